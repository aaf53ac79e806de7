package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An agent that waits for a person is killed by SIGKILL while it is being parked, while it is parked, and while it comes back. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ParkKillTest {
    private final Path data = RealSandbox.newData();

    @TempDir
    Path work;

    private ScriptedModel model;
    private JsonNode whole;
    private Path wholeWork;

    @BeforeAll
    void uncrashedRun(@TempDir Path directory) throws Exception {
        model = new ScriptedModel()
                .calls(
                        null,
                        call("c1", "append", "line", "A"),
                        call("q1", "approve", "plan", "B"),
                        call("c2", "append", "line", "B"))
                .calls("c2", call("c3", "append", "line", "C"))
                .says("c3", "all done");
        wholeWork = directory;
        AgentLife life = AgentLife.run(ParkedAgent.class, data, model, directory, "whole", null);
        assertThat(life.status()).as(life.errors()).isZero();
        whole = Objects.requireNonNull(life.outcome());
    }

    private static ScriptedModel.Call call(String id, String tool, String argument, String value) {
        return new ScriptedModel.Call(id, tool, argument, value);
    }

    @AfterAll
    void stop() {
        model.close();
        RealSandbox.remove(data);
    }

    @Test
    void uncrashed_sandboxIsGoneWhileItWaitsAndItsMemoryComesBack() throws Exception {
        assertThat(Files.readString(wholeWork.resolve("while-parked"))).isEqualTo("no sandbox\n");
        assertThat(whole.path("answer").asText()).isEqualTo("all done");
        assertThat(whole.path("log").asText()).isEqualTo("A\nB\nC");
        assertThat(whole.path("count").asText()).as("counted in memory").isEqualTo("4");
        assertThat(whole.path("tools").asText()).contains("go ahead", "1 lines, count 1", "2 lines, count 2");
    }

    @ParameterizedTest
    @CsvSource({
        "park.wanted@1, true",
        "turn.boundary@2, true",
        "commit.before@2, true",
        "commit.recorded@2, false",
        "park.stopped@1, false",
        "park.done@1, false",
        "wake.begin@1, false",
        "wake.ready@1, false",
        "tool.inside@2, false"
    })
    void killed_endsAsIfUncrashed(String point, boolean firstToolAgain) throws Exception {
        String session = point.replace('.', '-').replace('@', '-');
        AgentLife killed = AgentLife.run(ParkedAgent.class, data, model, work, session, point);
        assertThat(killed.status()).as(killed.errors()).isEqualTo(137);

        AgentLife life = AgentLife.run(ParkedAgent.class, data, model, work, session, null);

        assertThat(life.status()).as(life.errors()).isZero();
        assertThat(life.outcome()).isEqualTo(whole);
        List<String> executions = Files.readAllLines(work.resolve("executions"));
        assertThat(executions.stream().filter("append A"::equals)).hasSize(firstToolAgain ? 2 : 1);
        assertThat(Files.readAllLines(work.resolve("questions")).stream().distinct())
                .as("one idempotency key")
                .hasSize(1);
    }
}
