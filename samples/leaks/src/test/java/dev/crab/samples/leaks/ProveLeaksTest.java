package dev.crab.samples.leaks;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The proof at its smallest; {@code ./crab prove leaks} is the same with more turns, restores and kills. */
class ProveLeaksTest {
    @TempDir
    private Path directory;

    @Test
    void turnsRestoresAndKills_leaveNothingBehind() throws Exception {
        Path json = directory.resolve("leaks.json");
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(said, true, StandardCharsets.UTF_8);

        int status = ProveLeaks.run(
                stream, stream, "--turns", "20", "--restores", "3", "--seed", "7", "--json", json.toString());

        String story = said.toString(StandardCharsets.UTF_8);
        assertThat(status).as(story).isZero();
        JsonNode report = new ObjectMapper().readTree(json.toFile());
        assertThat(report.path("ok").asBoolean()).isTrue();
        assertThat(report.path("turns").asInt()).isGreaterThanOrEqualTo(16);
        assertThat(report.path("restores").asInt()).isGreaterThanOrEqualTo(3);
        assertThat(report.path("kills").asInt()).isPositive();
        for (Row row : Row.values()) {
            assertThat(story).contains(row.label());
        }
        // That something is seen at all is what makes "none" mean anything.
        for (Row row : new Row[] {
            Row.VOLUMES,
            Row.MOUNTS,
            Row.NETWORK_NAMESPACES,
            Row.CGROUPS,
            Row.PROCESSES,
            Row.LOOP_DEVICES,
            Row.LOCKS,
            Row.STAGED,
            Row.DESCRIPTORS,
            Row.THREADS
        }) {
            assertThat(report.at("/rows/" + row.label() + "/running").asInt())
                    .as(row.label())
                    .isPositive();
        }
    }
}
