package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.common.Json;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The measurement itself, small: real JVMs, real sandboxes. */
class DensityBenchTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    @Test
    void density_hasARowForEachNumberOfAgentsAndJvms_andWhatIdleSessionsTake() throws Exception {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(said, true, StandardCharsets.UTF_8);
        Path json = directory.resolve("density.json");

        int status = DensityBench.run(
                stream,
                stream,
                "--only=write-report",
                "--speed=50",
                "--sandboxes=1,2",
                "--jvms=1,2",
                "--warm-up=1",
                "--idle=2",
                "--json=" + json);

        String text = said.toString(StandardCharsets.UTF_8);
        assertThat(status).as(text).isZero();
        JsonNode found = Json.read(Files.readString(json));
        assertThat(found.path("rows"))
                .extracting(row -> row.path("sandboxes") + "/" + row.path("jvms"))
                .containsExactly("1/1", "2/1", "2/2");
        assertThat(found.path("warmUp").asInt()).isOne();
        assertThat(found.path("rows")).allSatisfy(row -> {
            assertThat(row.path("crab").path("runs").asInt())
                    .isEqualTo(row.path("sandboxes").asInt());
            assertThat(row.path("crab").path("wallOverNone").asDouble()).isPositive();
            assertThat(row.path("crab").path("exposedMillis").has("p99")).isTrue();
            assertThat(row.path("crabJvmPeakBytes").asLong()).isPositive();
        });
        assertThat(found.at("/idle/heapBytes").asDouble()).isPositive().isLessThan(20e6);
        assertThat(text).contains("An idle session takes");
    }

    @Test
    void nonsense_isRefused() {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(said, true, StandardCharsets.UTF_8);
        assertThat(DensityBench.run(stream, stream, "--sandboxes=0")).isEqualTo(2);
        assertThat(DensityBench.run(stream, stream, "--warm-up=-1")).isEqualTo(2);
        assertThat(DensityBench.run(stream, stream, "--speed=0")).isEqualTo(2);
    }
}
