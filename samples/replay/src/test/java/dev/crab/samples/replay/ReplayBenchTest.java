package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.common.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The shipped trajectories, for real: JVMs that are killed, sandboxes, CRIU, btrfs. */
class ReplayBenchTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private int status;

    private JsonNode replay(String... arguments) throws IOException {
        Path json = directory.resolve("found.json");
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--speed", "50", "--json", json.toString()));
        PrintStream out = new PrintStream(said, true, StandardCharsets.UTF_8);
        status = ReplayBench.run(out, out, all.toArray(String[]::new));
        assertThat(json).as(said()).exists();
        return Json.read(Files.readString(json));
    }

    private String said() {
        return said.toString(StandardCharsets.UTF_8);
    }

    private static JsonNode recovery(JsonNode found, String policy) {
        for (JsonNode summary : found.path("summaries")) {
            if (summary.path("policy").asText().equals(policy)
                    && summary.path("category").asText().equals(Results.ALL)) {
                return summary.path("recovery");
            }
        }
        throw new AssertionError("no summary of " + policy);
    }

    @Test
    void crab_comesBackRightFromACrashBehindEveryTurn() throws Exception {
        JsonNode found = replay("--policies", "crab", "--only", "counting-repl", "--runs", "0");

        JsonNode recovery = recovery(found, "crab");
        assertThat(recovery.path("crashes").asInt()).as(said()).isEqualTo(3);
        assertThat(recovery.path("correct").asInt()).as(said()).isEqualTo(3);
        assertThat(recovery.path("probe").asInt()).as(said()).isEqualTo(3);
        assertThat(status).as(said()).isZero();
    }

    @Test
    void withoutProcesses_theInterpretersMemoryIsLost() throws Exception {
        // The last kill, behind turn 3: only it is worth two JVMs in a test.
        JsonNode found = replay(
                "--policies",
                "chat,files",
                "--only",
                "counting-repl",
                "--runs",
                "0",
                "--crash",
                "random:1",
                "--seed",
                "1");

        assertThat(found.at("/crashes/0/turn").asInt()).as(said()).isEqualTo(3);
        JsonNode files = recovery(found, "files");
        assertThat(files.path("correct").asInt()).as(said()).isZero();
        assertThat(found.at("/crashes/1/state").toString())
                .as(said())
                .contains("python3")
                .doesNotContain("srv/work/out:");
        JsonNode chat = recovery(found, "chat");
        assertThat(chat.path("correct").asInt()).as(said()).isZero();
        assertThat(found.at("/crashes/0/state").toString()).as(said()).contains("srv/work/out: is gone");
    }

    @Test
    void undisturbedRuns_areMeasuredBesideEachOther() throws Exception {
        JsonNode found =
                replay("--policies", "none,full,crab", "--only", "look-around", "--crash", "none", "--sandboxes", "2");

        assertThat(status).as(said()).isZero();
        assertThat(found.path("measured")).as(said()).hasSize(6);
        for (JsonNode measured : found.path("measured")) {
            assertThat(measured.path("turns")).hasSize(3);
            assertThat(measured.path("wall").asLong())
                    .isGreaterThan(measured.path("waited").asLong());
            assertThat(measured.path("jvmPeak").asLong()).isPositive();
            assertThat(measured.path("sandboxCpu").asLong()).isPositive();
        }
        JsonNode crab = found.path("summaries").path(4);
        assertThat(crab.path("policy").asText()).isEqualTo("crab");
        assertThat(crab.at("/cost/skippedShare").asDouble()).isEqualTo(1);
        double overFull = crab.at("/cost/bytesOverFull").asDouble();
        assertThat(overFull).isBetween(0.0, 0.5);
        assertThat(crab.at("/cost/bytesOverImages").asDouble())
                .as("images that are neither compressed nor shared")
                .isBetween(0.0, overFull);
    }
}
