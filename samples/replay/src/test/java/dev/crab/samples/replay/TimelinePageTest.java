package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.cli.ChartPage;
import dev.crab.overlap.TurnReport;
import dev.crab.samples.common.Json;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page of {@code crab timeline} in a real browser. */
class TimelinePageTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    private static ObjectNode turn(int number, String effect, String saved, boolean isVoid) {
        ObjectNode turn = (ObjectNode) Json.read("""
                {"tools": ["</script><b>bash"], "committed": true, "claimBroken": false,
                 "reasons": [{"rule": "files-changed", "effect": "FILES", "evidence": ["added /tmp/<i>x"]}],
                 "windowNanos": 2100000000, "captureNanos": 45000000, "freezeNanos": 9000000, "persistNanos": 60000000,
                 "exposedNanos": 0}""");
        turn.put("turn", number).put("effect", effect).put("saved", saved).put("bytes", 1000 * number);
        // What a session's history is made of can read it, too.
        ObjectNode shown = TurnReport.fromJson(turn).toJson();
        return shown.put("boundaryMillis", 1_800_000_000_000.0 + 3000L * number)
                .put("committedMillis", 1_800_000_000_105L + 3000L * number)
                .put("void", isVoid);
    }

    @Test
    void page_drawsItsCharts_andAsksNobodyForAnything() throws Exception {
        ObjectNode document = Json.object().put("session", "one");
        ArrayNode turns = document.putArray("turns");
        turns.add(turn(1, "NONE", "NOTHING", false));
        turns.add(turn(2, "FILES", "FILES", true));
        turns.add(turn(3, "FULL", "PROCESSES_AND_FILES", false));
        ObjectNode failed =
                turn(4, "PROCESSES", "NOTHING", false).put("committed", false).put("failure", "DISK_FULL");
        failed.remove("boundaryMillis");
        turns.add(failed);

        Browser.Seen seen =
                Browser.open(directory, ChartPage.of(ChartPage.resource(ChartPage.class, "timeline.html"), document));

        seen.drewEveryChart(3);
        assertThat(seen.page().path("rows").asInt()).isEqualTo(4);
        seen.askedNobody();
    }
}
