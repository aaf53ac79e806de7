package dev.crab.samples.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AgentRunTest {
    @TempDir
    private Path directory;

    @Test
    void repeated_areOperationsOfATurnThatWasCommittedBeforeTheirLife() {
        CommandLog first = new CommandLog(directory.resolve("commands"), 1);
        first.append(CodingAgent.REQUEST);
        first.append("write a");
        first.append(CodingAgent.REQUEST);
        first.append("write b");
        CommandLog second = new CommandLog(directory.resolve("commands"), 2);
        second.append(CodingAgent.REQUEST);
        second.append("write a");
        second.append(CodingAgent.REQUEST);
        second.append("write b");

        assertThat(run(1).repeated()).containsExactly(new AgentRun.Operation(2, 1, "write a"));
        assertThat(run(0).repeated()).isEmpty();
        assertThat(run(0).operationsOf(2)).containsExactly("write b", "write b");
    }

    @Test
    void commandLog_keepsEachOperationOnOneLine() throws Exception {
        new CommandLog(directory.resolve("commands"), 3).append("exec printf 'a\nb'");

        assertThat(Files.readString(directory.resolve("commands"))).isEqualTo("3\texec printf 'a\\nb'\n");
        assertThat(CommandLog.read(directory.resolve("commands")))
                .containsExactly(new CommandLog.Entry(3, "exec printf 'a\\nb'"));
    }

    private AgentRun run(long recoveredTurn) {
        return new AgentRun(
                "test",
                List.of(
                        new AgentRun.Life(0, 0, 0, new AgentProcess.Ending.Killed("tool.inside@2"), null),
                        new AgentRun.Life(recoveredTurn, 2, 90, new AgentProcess.Ending.Finished(), null)),
                new TreeMap<>(),
                null,
                AgentRunner.operations(CommandLog.read(directory.resolve("commands"))),
                List.of(),
                2,
                List.of(),
                directory.resolve("log"));
    }
}
