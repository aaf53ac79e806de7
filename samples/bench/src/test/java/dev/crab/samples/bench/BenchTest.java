package dev.crab.samples.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BenchTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @ParameterizedTest
    @CsvSource({"capture, 13", "restore, 9", "inspector, 36"})
    void measurement_asJson_hasEverySeries(String name, int series) throws Exception {
        int status = run(name, "--runs", "1", "--warm-up", "1", "--json");

        assertThat(status).as(err.toString(StandardCharsets.UTF_8)).isZero();
        JsonNode report = new ObjectMapper().readTree(out.toByteArray());
        assertThat(report.path("series")).hasSize(series).allSatisfy(one -> {
            assertThat(one.path("runs").asInt()).isEqualTo(1);
            assertThat(one.path("median").asDouble()).isNotNegative();
        });
        assertThat(report.path("machine").asText()).contains("processors", "Linux");
    }

    @Test
    void overhead_asJson_hasEverySeries() throws Exception {
        int status = run("overhead", "--runs", "2", "--warm-up", "1", "--latency", "1", "--json");

        assertThat(status).as(err.toString(StandardCharsets.UTF_8)).isZero();
        JsonNode report = new ObjectMapper().readTree(out.toByteArray());
        assertThat(report.path("series")).hasSize(12);
        assertThat(report.path("series").path(10).path("runs").asInt()).isEqualTo(2);
        assertThat(report.path("series").path(11).path("runs").asInt()).isEqualTo(1);
        // A call of a chat waits for its start, response and end; each of an agent's six for its response.
        assertThat(report.path("notes").path(0).asText()).contains("agent with tools: of", " 1.3 flushes is");
        assertThat(report.path("notes").path(1).asText()).contains("chat: of", " 3.0 flushes is");
    }

    @Test
    void bench_withoutAName_showsTheNames() {
        assertThat(run()).isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("capture", "restore");
    }

    private int run(String... arguments) {
        return Bench.run(
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                arguments);
    }
}
