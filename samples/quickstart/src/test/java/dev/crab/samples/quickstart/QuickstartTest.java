package dev.crab.samples.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.samples.common.Json;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The whole thing: driver, agents in JVMs of their own, kill, restore. */
class QuickstartTest {
    /** What a run of the command came to. */
    private record Result(int status, JsonNode json, String story) {
        List<String> failed() {
            return json.findParents("held").stream()
                    .filter(probe -> !probe.path("held").asBoolean())
                    .map(probe -> probe.path("name").asText())
                    .toList();
        }
    }

    @Test
    void agentThatIsKilledInATool_goesOn() {
        Result result = run("--speed", "20");

        assertThat(result.failed()).as(result.story()).isEmpty();
        assertThat(result.status()).as(result.story()).isZero();
        assertThat(result.json().path("ok").asBoolean()).isTrue();
        assertThat(result.json().path("turns")).hasSize(Script.responses().size() - 1);
        assertThat(result.json().path("lives")).hasSize(2);
        assertThat(result.json().at("/lives/0/killedAt").asText()).isEqualTo("command.running@1");
        assertThat(result.json().at("/lives/1/recoveredTurn").asLong()).isEqualTo(8);
        assertThat(result.story()).contains("kill -9").doesNotContain("\u001b");
    }

    @Test
    void agentThatIsKilledInACapture_goesOn() {
        Result result = run("--speed", "50", "--crash-at", "capture.dumped@1");

        assertThat(result.failed()).as(result.story()).isEmpty();
        assertThat(result.status()).as(result.story()).isZero();
    }

    @Test
    void agentWhoseDiskBecomesFull_endsTypedAndGoesOnWhenThereIsRoom() {
        Result result = run("--speed", "50", "--disk-full");

        assertThat(result.failed()).as(result.story()).isEmpty();
        assertThat(result.status()).as(result.story()).isZero();
        for (String disk : List.of("objects", "snapshots", "both")) {
            JsonNode one = result.json().path(disk);
            assertThat(one.path("probes").size()).as(result.story()).isGreaterThanOrEqualTo(14);
            assertThat(one.at("/lives/0/failure").asText()).contains("DISK_FULL");
            assertThat(one.at("/lives/1/recoveredTurn").asLong()).isEqualTo(6);
        }
    }

    @Test
    void agentWithoutCrab_failsTheProbes() {
        Result result = run("--speed", "50", "--unprotected");

        assertThat(result.status()).as(result.story()).isEqualTo(1);
        assertThat(result.failed()).as(result.story()).contains("its session went on");
    }

    @Test
    void point_thatIsNeverReached_isAFailure() {
        Result result = run("--speed", "50", "--crash-at", "no.such.point@1");

        assertThat(result.status()).as(result.story()).isEqualTo(1);
        assertThat(result.failed()).as(result.story()).containsExactly("the JVM was killed");
    }

    @Test
    void point_thatDoesNotExist_isRefusedNamingThoseThatDo() {
        Result result = run("--speed", "50", "--crash-at", "no.such.point");

        assertThat(result.status()).isEqualTo(1);
        assertThat(result.story())
                .contains("no point no.such.point", "tool.inside", "turn.boundary", "commit.recorded");
    }

    @AfterEach
    void sessions_areRemoved() {
        String own = "quickstart-" + Long.toString(ProcessHandle.current().pid(), 36) + "-";
        try (CrabRuntime runtime = CrabRuntime.builder().build()) {
            assertThat(runtime.sessions()).noneMatch(session -> session.startsWith(own));
        }
    }

    private static Result run(String... arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        String[] all = new String[arguments.length + 1];
        System.arraycopy(arguments, 0, all, 0, arguments.length);
        all[arguments.length] = "--json";
        int status = Quickstart.run(
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                all);
        return new Result(
                status, Json.tryRead(out.toString(StandardCharsets.UTF_8)), err.toString(StandardCharsets.UTF_8));
    }
}
