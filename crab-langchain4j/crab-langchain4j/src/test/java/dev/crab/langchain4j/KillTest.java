package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An agent's JVM is killed by SIGKILL at a named point and started again; the model's server outlives it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KillTest {
    private final Path data = RealSandbox.newData();

    @TempDir
    Path work;

    private ScriptedModel model;
    private JsonNode whole;

    @BeforeAll
    void uncrashedRun(@TempDir Path directory) throws Exception {
        model = new ScriptedModel()
                .calls(null, call("c1", "A"), call("c2", "B"))
                .calls("c2", call("c3", "C"), new ScriptedModel.Call("m1", "mail", "text", "hello"))
                .calls("m1", call("c4", "D"))
                .says("c4", "all done");
        whole = Objects.requireNonNull(run(directory, "whole", null));
        assertThat(model.requests()).hasSize(5);
        assertThat(whole.path("log").asText()).isEqualTo("A\nB\nC\nD");
        assertThat(whole.path("count").asText()).isEqualTo("5");
    }

    private static ScriptedModel.Call call(String id, String line) {
        return new ScriptedModel.Call(id, "append", "line", line);
    }

    @AfterAll
    void stop() {
        model.close();
        RealSandbox.remove(data);
    }

    @ParameterizedTest
    @CsvSource({
        "response.recorded@1, 5",
        "response.recorded@3, 5",
        "tool.before@3, 5",
        "tool.inside@1, 5",
        "tool.inside@2, 5",
        "tool.inside@4, 5",
        "tool.inside@5, 5",
        "tool.after@2, 5",
        "tool.after@4, 5",
        "turn.boundary@2, 6",
        "turn.boundary@4, 6",
        "commit.recorded@3, 6"
    })
    void agent_killedAtPoint_endsAsIfUncrashed(String point, int requestsAtMost) throws Exception {
        int requestsBefore = model.requests().size();
        String session = point.replace('.', '-').replace('@', '-');
        assertThat(run(work, session, point))
                .as("the agent must not have finished")
                .isNull();

        assertThat(run(work, session, null)).isEqualTo(whole);
        assertThat(model.requests().size() - requestsBefore).isBetween(5, requestsAtMost);
        List<String> executions = Files.readAllLines(work.resolve("executions"));
        int turn = turnOf(point);
        boolean again = turn == 1 && ranBefore(point, 1);
        if (point.startsWith("response.recorded")) {
            // Whether the turn before was committed by then is a race, and either is right.
            assertThat(count(executions, "append A")).isBetween(1L, turn == 1 ? 2L : 1L);
        } else {
            assertThat(count(executions, "append A")).isEqualTo(again ? 2 : 1);
        }
        assertThat(count(executions, "append C")).isLessThanOrEqualTo(turn == 2 ? 2 : 1);
        assertThat(count(executions, "append D")).isLessThanOrEqualTo(turn == 3 ? 2 : 1);
        List<String> mails =
                executions.stream().filter(line -> line.startsWith("mail")).toList();
        assertThat(mails.stream().distinct().count()).as("one idempotency key").isEqualTo(1);
        assertThat(mails.size()).isEqualTo(point.equals("tool.inside@4") ? 2 : 1);
    }

    private static int turnOf(String point) {
        int times = Integer.parseInt(point.substring(point.indexOf('@') + 1));
        if (point.startsWith("tool")) {
            return times <= 2 ? 1 : times <= 4 ? 2 : 3;
        }
        // The first commit is the preparation's; and the response after a turn arrives while that is being committed.
        return times - 1;
    }

    private static boolean ranBefore(String point, int tool) {
        int times = Integer.parseInt(point.substring(point.indexOf('@') + 1));
        return switch (point.substring(0, point.indexOf('@'))) {
            case "tool.before" -> times > tool;
            case "tool.inside", "tool.after", "turn.boundary" -> true;
            default -> false;
        };
    }

    private static long count(List<String> lines, String wanted) {
        return lines.stream().filter(wanted::equals).count();
    }

    /** Runs the agent to its end, or until it reaches the point, where it is killed. */
    private @Nullable JsonNode run(Path directory, String session, @Nullable String point) throws Exception {
        AgentLife life = AgentLife.run(data, model, directory, session, point);
        assertThat(life.status()).as(life.errors()).isEqualTo(point == null ? 0 : 137);
        return life.outcome();
    }
}
