package dev.crab.samples.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.common.Json;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FingerprintTest {
    private static final AgentState.Task INIT = new AgentState.Task(1, 0, 1, 1, "S", "/crab-init");
    private static final AgentState.Task SERVICE = new AgentState.Task(20, 1, 19, 19, "S", "python3 counter.py");
    private static final AgentState STATE = state(20, "0123456789abcdef", 7);

    @Test
    void differences_ofTheSameState_areNone() {
        assertThat(differences(STATE)).isEmpty();
    }

    @Test
    void differences_ofAnotherPidAndTokenAlone_areNone() {
        assertThat(differences(state(44, "fedcba9876543210", 7))).isEmpty();
    }

    @Test
    void differences_nameThePartThatDiffers() {
        assertThat(differences(new AgentState(
                        "other",
                        Map.of("./cart.py", "changed"),
                        List.of(INIT),
                        counter(20, "0123456789abcdef", 8),
                        "/root",
                        "",
                        List.of(),
                        Json.read("[{\"role\": \"user\", \"content\": \"other\"}]"))))
                .map(difference -> difference.substring(0, difference.indexOf(':')))
                .containsExactlyInAnyOrder(
                        "answer",
                        "files",
                        "processes",
                        "counter",
                        "working directory",
                        "variable",
                        "announcements",
                        "chat");
    }

    @Test
    void differences_ofAStoppedProcess_areFound() {
        assertThat(differences(withProcesses(INIT, new AgentState.Task(20, 1, 19, 19, "T", SERVICE.command()))))
                .hasSize(1);
    }

    @Test
    void differences_ofASecondService_areFound() {
        assertThat(differences(
                        withProcesses(INIT, SERVICE, new AgentState.Task(21, 1, 19, 19, "S", SERVICE.command()))))
                .hasSize(1);
    }

    @Test
    void sameService_isTheOneThatTheChatSawFirst() {
        assertThat(Fingerprint.sameService(STATE)).isTrue();
        assertThat(Fingerprint.sameService(withCounter(counter(21, "0123456789abcdef", 7))))
                .isFalse();
        assertThat(Fingerprint.sameService(withCounter(counter(20, "fedcba9876543210", 7))))
                .isFalse();
        assertThat(Fingerprint.sameService(withCounter(Json.object()))).isFalse();
    }

    private static List<String> differences(AgentState state) {
        return Fingerprint.of(STATE).differences(Fingerprint.of(state));
    }

    private static AgentState state(int pid, String token, int total) {
        JsonNode counter = counter(pid, token, total);
        JsonNode chat = Json.tree(List.of(
                Map.of("role", "user", "content", "do it"),
                Map.of("role", "tool", "tool_call_id", "a", "content", spaced(counter))));
        return new AgentState(
                "done",
                Map.of("./cart.py", "digest 644:0:0"),
                List.of(INIT, new AgentState.Task(pid, 1, pid - 1, pid - 1, "S", SERVICE.command())),
                counter,
                "/root/shop",
                "2.4",
                List.of("shop total=7"),
                chat);
    }

    /** As Python writes it. */
    private static String spaced(JsonNode counter) {
        return "{\"pid\": " + counter.get("pid") + ", \"sold\": {}, \"token\": \""
                + counter.get("token").asText() + "\", \"total\": " + counter.get("total") + "}";
    }

    private static JsonNode counter(int pid, String token, int total) {
        return Json.object().put("pid", pid).put("token", token).put("total", total);
    }

    private static AgentState withProcesses(AgentState.Task... processes) {
        return new AgentState(
                STATE.answer(),
                STATE.files(),
                List.of(processes),
                STATE.counter(),
                STATE.workingDirectory(),
                STATE.variable(),
                STATE.announcements(),
                STATE.chat());
    }

    private static AgentState withCounter(JsonNode counter) {
        return new AgentState(
                STATE.answer(),
                STATE.files(),
                STATE.processes(),
                counter,
                STATE.workingDirectory(),
                STATE.variable(),
                STATE.announcements(),
                STATE.chat());
    }
}
