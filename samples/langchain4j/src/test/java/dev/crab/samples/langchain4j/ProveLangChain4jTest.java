package dev.crab.samples.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.CrabRuntime;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A row, and what the command refuses; all rows are {@code ./crab prove langchain4j}'s. */
class ProveLangChain4jTest {
    private record Answer(int status, String text) {}

    private static Answer prove(String... arguments) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        int status = ProveLangChain4j.run(out, out, arguments);
        return new Answer(status, bytes.toString(StandardCharsets.UTF_8));
    }

    @AfterEach
    void sessions_areRemoved() {
        String own = "prove-lc-" + Long.toString(ProcessHandle.current().pid(), 36) + "-";
        try (CrabRuntime runtime = CrabRuntime.builder().build()) {
            assertThat(runtime.sessions()).noneMatch(session -> session.startsWith(own));
        }
    }

    @Test
    void row_endsAsWithoutAKill_whereverItIsKilled() {
        Answer answer = prove("--only", "agents-conditional");
        assertThat(answer.status()).as(answer.text()).isZero();
        assertThat(answer.text()).contains("1 rows: 6 of 6 runs ended as without a kill");
    }

    @Test
    void unknownRow_isUsage() {
        assertThat(prove("--only", "nothing").status()).isEqualTo(2);
        assertThat(prove("--list").text().lines()).hasSize(Rows.all().size()).contains("streaming", "agents-parallel");
    }
}
