package dev.crab.overlap;

import dev.crab.runtime.session.SessionArchive;
import dev.crab.runtime.store.JournalRecord;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the turns of a session did and cost, from its journal: also beside a living owner, whose newest report may still be missing. */
public final class TurnHistory {
    private TurnHistory() {}

    /**
     * A turn of the past.
     *
     * @param report what it did and cost
     * @param committedAtMillis when its commit began to be written, in milliseconds since 1970 UTC; 0 if it was not committed
     * @param isVoid whether the session has gone back behind it since
     */
    public record PastTurn(TurnReport report, long committedAtMillis, boolean isVoid) {}

    /**
     * What tools did outside the sandbox after a turn, oldest first: what going back to it would not undo.
     *
     * @param turn a turn of the session that counts, or 0
     */
    public static List<OutsideEffect> outsideAfter(SessionArchive archive, long turn) {
        return SessionReplay.of(archive.records()).outsideAfter(turn);
    }

    /** All turns of a session, in the order in which they were. */
    public static List<PastTurn> of(SessionArchive archive) {
        ReportLog log = new ReportLog();
        archive.records().forEach(log::read);
        archive.records().forEach(log::reportOf);
        Map<Long, List<Long>> commits = new HashMap<>();
        for (JournalRecord entry : archive.records()) {
            if (entry.kind().equals(RecordKinds.COMMIT)) {
                commits.computeIfAbsent(entry.body().path("turn").asLong(), turn -> new ArrayList<>())
                        .add(entry.body().path("at").asLong());
            }
        }
        Map<Long, Long> valid = new HashMap<>();
        archive.turns().forEach(turn -> valid.put(turn.commit().turn(), turn.atMillis()));
        List<PastTurn> turns = new ArrayList<>();
        for (TurnReport report : log.all()) {
            // A turn that was rolled back has a number that comes again, and its report comes first.
            List<Long> times = report.committed() ? commits.getOrDefault(report.turn(), List.of()) : List.of();
            long at = times.isEmpty() ? 0 : times.size() == 1 ? times.get(0) : times.remove(0);
            turns.add(new PastTurn(report, at, report.committed() && valid.getOrDefault(report.turn(), 0L) != at));
        }
        return turns;
    }
}
