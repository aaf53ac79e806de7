package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.crab.runtime.inspector.TracepointInspector;
import dev.crab.runtime.inspector.TurnInspector;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecordedRunTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    @Test
    void replay_ofARepairWithAService_isJudgedWithoutAMiss() throws Exception {
        RecordedReport report = replay("greeting-repair");

        String said = String.join("\n", report.lines());
        JsonNode json = json(report);
        List<String> truths = new ArrayList<>();
        for (JsonNode turn : json.path("turns")) {
            truths.add(turn.path("truth").path("effect").asText());
            assertThat(turn.path("judgeMilliseconds").asDouble()).isPositive();
        }
        // look; start the service with its log; ask it; edit; start it anew; ask it again
        assertThat(truths).as(said).containsExactly("NONE", "FULL", "PROCESSES", "FILES", "FULL", "PROCESSES");
        assertThat(json.path("misses").asInt()).as(said).isZero();
        assertThat(json.path("recordings").path(0).path("fidelity").asText())
                .as(said)
                .isEqualTo("6/6");
        assertThat(report.isClean()).as(said).isTrue();
    }

    /** Its epoll_wait comes back with EINTR after each of the harness's freezes, and it notes the time and waits on. */
    @Test
    void replay_withAServiceThatTheFreezeWakes_hasNothingInTheTurnsThatOnlyLook() throws Exception {
        RecordedReport report = replay("idle-service");

        List<String> truths = new ArrayList<>();
        json(report)
                .path("turns")
                .forEach(turn -> truths.add(turn.path("truth").path("effect").asText()));
        assertThat(truths).as(String.join("\n", report.lines())).containsExactly("PROCESSES", "NONE", "NONE");
        assertThat(report.isClean()).isTrue();
        JsonNode replayed = json(report).path("recordings").path(0);
        assertThat(replayed.path("settled").asInt()).isPositive();
        assertThat(replayed.path("unsettled").asInt()).isZero();
    }

    @Test
    void replay_whoseSetupFails_tellsWhyAndIsNotClean() throws Exception {
        RecordedReport report = replay("broken-setup");

        assertThat(report.isClean()).isFalse();
        assertThat(String.join("\n", report.lines())).contains("the set-up of broken-setup failed", "no tools here");
    }

    private RecordedReport replay(String name) throws IOException {
        RecordedReport report = new RecordedReport();
        try (TurnInspector inspector = new TracepointInspector()) {
            Path image = TestImage.directory();
            new RecordedRun(inspector, image, directory, Map.of(), Duration.ofMillis(100), report)
                    .replay(RecordingFormatTest.recording(name));
        }
        return report;
    }

    private JsonNode json(RecordedReport report) throws IOException {
        Path file = directory.resolve("report.json");
        report.write(file);
        return new ObjectMapper().readTree(file.toFile());
    }
}
