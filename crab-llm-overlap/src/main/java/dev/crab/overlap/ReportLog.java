package dev.crab.overlap;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.store.JournalRecord;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The turns' reports as a journal has them. Not thread-safe. */
final class ReportLog {
    private static final Logger LOG = LoggerFactory.getLogger(ReportLog.class);

    private final List<TurnReport> reports = new ArrayList<>();

    /** The same, and the turns that have one as committed: a session may have many thousands. */
    private final Set<TurnReport> known = new HashSet<>();

    private final Set<Long> committed = new HashSet<>();

    /** Takes the reports that a record carries; such as cannot be read are left out with a warning. */
    void read(JournalRecord entry) {
        for (JsonNode report : entry.body().path("reports")) {
            try {
                TurnReport read = TurnReport.fromJson(report);
                if (!known.contains(read)) {
                    add(read);
                }
            } catch (IllegalArgumentException e) {
                LOG.warn("A turn's report in the journal cannot be read: {}", e.getMessage());
            }
        }
    }

    /**
     * A process may die between a commit and its report: then the commit record has to do, which knows no reasons and no window. For
     * records of all kinds, once {@link #read} has had them all.
     */
    void reportOf(JournalRecord commit) {
        ObjectNode body = commit.body();
        long turn = body.path("turn").asLong();
        if (!commit.kind().equals(RecordKinds.COMMIT) || committed.contains(turn)) {
            return;
        }
        List<String> tools = new ArrayList<>();
        body.path("position").path("tools").forEach(name -> tools.add(name.asText()));
        ObjectNode report = JsonNodeFactory.instance.objectNode();
        report.put("turn", turn)
                .put("committed", true)
                .put("effect", body.path("effect").asText())
                .put("saved", body.path("saved").asText())
                .put("bytes", body.path("bytes").asLong())
                .put("captureNanos", body.path("captureNanos").asLong())
                .put("freezeNanos", body.path("freezeNanos").asLong());
        tools.forEach(report.putArray("tools")::add);
        try {
            add(TurnReport.fromJson(report));
            reports.sort(Comparator.comparingLong(TurnReport::turn));
        } catch (IllegalArgumentException e) {
            LOG.warn("The commit of turn {} cannot be reported: {}", turn, e.getMessage());
        }
    }

    void add(TurnReport report) {
        reports.add(report);
        known.add(report);
        if (report.committed()) {
            committed.add(report.turn());
        }
    }

    List<TurnReport> all() {
        return List.copyOf(reports);
    }
}
