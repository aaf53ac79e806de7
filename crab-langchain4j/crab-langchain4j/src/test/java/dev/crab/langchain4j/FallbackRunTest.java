package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.snapshot.SnapshotKind;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.snapshot.Snapshotters;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * An agent is killed, the newest checkpoint of its session is damaged, and the same program is started again: it goes on from the turn
 * before, chat included.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FallbackRunTest {
    /** Killed in the tool of the last turn; before it: the preparation, the turn of A and B, and that of C and the mail. */
    private static final String POINT = "tool.inside@5";

    private static final long NEWEST = 3;
    private static final String NOTICE = "The sandbox was restored. It is back at turn 2";

    private final Path data = RealSandbox.newData();

    @TempDir
    Path work;

    private ScriptedModel model;

    /** What of the newest generation is damaged. */
    enum Damage {
        DUMP,
        FILE_TABLE,
        MANIFEST,
        SNAPSHOT
    }

    @BeforeAll
    void start() {
        model = new ScriptedModel()
                .calls(null, call("c1", "A"), call("c2", "B"))
                .calls("c2", call("c3", "C"), new ScriptedModel.Call("m1", "mail", "text", "hello"))
                .calls("m1", call("c4", "D"))
                .says("c4", "all done");
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
    @EnumSource
    void newestCheckpointDamaged_agentGoesOnFromTheTurnBefore(Damage damage) throws Exception {
        String session = "damaged-" + damage.name().toLowerCase(Locale.ROOT).replace('_', '-');
        Path directory = work.resolve(session);
        killed(directory, session, POINT);
        inflict(damage, session);
        int before = model.requests().size();

        AgentLife life = AgentLife.run(data, model, directory, session, null);

        assertThat(life.status()).as(life.errors()).isZero();
        assertThat(life.recovered().path("turn").asLong()).isEqualTo(2);
        assertThat(life.recovered().path("skipped")).hasSize(1);
        assertEnd(life, directory);
        // The first that the model is asked: the chat of turn 2, and the results of what was run again on its state.
        ObjectNode first = model.requests().get(before);
        assertThat(contents(first, "tool"))
                .satisfiesExactly(
                        a -> assertThat(a).isEqualTo("1 lines, count 1"),
                        b -> assertThat(b).isEqualTo("2 lines, count 2"),
                        c -> assertThat(c).startsWith("3 lines, count 3").contains(NOTICE),
                        mail -> assertThat(mail).isEqualTo("sent"));
        assertThat(executions(directory))
                .containsExactly("append A", "append B", "append C", "mail", "append D", "append C", "append D");
    }

    @Test
    void killedAgainBeforeTheModelWasTold_isToldAfterwards() throws Exception {
        Path directory = work.resolve("again");
        killed(directory, "again", POINT);
        inflict(Damage.DUMP, "again");
        // In the first tool that runs after the restore: its result, and what the model was to be told with it, is
        // lost.
        killed(directory, "again", "tool.inside@1");

        AgentLife life = AgentLife.run(data, model, directory, "again", null);

        assertThat(life.status()).as(life.errors()).isZero();
        assertThat(life.recovered().path("turn").asLong()).isEqualTo(2);
        assertEnd(life, directory);
    }

    private void assertEnd(AgentLife life, Path directory) throws IOException {
        JsonNode outcome = Objects.requireNonNull(life.outcome());
        assertThat(outcome.path("first").asText()).isEqualTo("all done");
        assertThat(outcome.path("second").asText()).isEqualTo("all done");
        assertThat(outcome.path("log").asText()).isEqualTo("A\nB\nC\nD");
        assertThat(outcome.path("count").asText()).isEqualTo("5");
        assertThat(outcome.path("memory").asText().split(NOTICE, -1))
                .as("told once")
                .hasSize(2);
        assertThat(executions(directory)).as("external").containsOnlyOnce("mail");
        assertThat(executions(directory)).as("committed").containsOnlyOnce("append A", "append B");
    }

    private void killed(Path directory, String session, String point) throws Exception {
        AgentLife life = AgentLife.run(data, model, directory, session, point);
        assertThat(life.status()).as(life.errors()).isEqualTo(137);
        assertThat(life.outcome()).as("the agent must not have finished").isNull();
    }

    private static List<String> contents(JsonNode request, String role) {
        List<String> contents = new java.util.ArrayList<>();
        request.path("messages").forEach(message -> {
            if (message.path("role").asText().equals(role)) {
                contents.add(message.path("content").asText());
            }
        });
        return contents;
    }

    /** What really ran, without idempotency keys. */
    private static List<String> executions(Path directory) throws IOException {
        return Files.readAllLines(directory.resolve("executions")).stream()
                .map(line -> line.startsWith("mail") ? "mail" : line)
                .toList();
    }

    private void inflict(Damage damage, String session) throws IOException {
        String generation = session + ".g" + NEWEST;
        switch (damage) {
            case DUMP -> flip(object(generation + ".dump"));
            case FILE_TABLE -> flip(object(generation + ".files"));
            case MANIFEST -> flip(data.resolve("sessions/" + session + "/manifests/" + NEWEST + ".json"));
            case SNAPSHOT -> {
                try (Snapshotter snapshots = Snapshotters.open(data, SnapshotKind.AUTO)) {
                    snapshots.delete(snapshots.find(generation));
                }
            }
        }
    }

    private Path object(String name) throws IOException {
        try (Stream<Path> files = Files.walk(data.resolve("objects"))) {
            return files.filter(file -> file.endsWith(name)).findFirst().orElseThrow();
        }
    }

    private static void flip(Path file) throws IOException {
        byte[] content = Files.readAllBytes(file);
        content[content.length / 2] ^= 1;
        Files.write(file, content);
    }
}
