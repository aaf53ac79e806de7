package dev.crab.samples.search;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** Both searches find the right answers in either way, in real sandboxes, and branches spare the tokens of the prefix. */
class SearchBenchTest {
    @Test
    void searches_findTheAnswer_andBranchesSpareTokens() throws Exception {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = new CommandLine(new SearchBench())
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute("--json", "--think", "0");
        assertThat(status).as("%s%s", out, err).isZero();
        JsonNode result = new ObjectMapper().readTree(out.toString());
        assertThat(result.path("searches"))
                .hasSize(4)
                .allMatch(row -> row.path("passed").asInt() == 6);
        assertThat(result.path("tokensSavedBestOf").asDouble()).isGreaterThan(0.4);
        assertThat(result.path("tokensSavedTree").asDouble()).isGreaterThan(0.4);
    }
}
