package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.samples.common.Json;
import dev.crab.samples.common.Recording;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReplayModelTest {
    private static final Recording RECORDING = new Recording(
            "two-turns",
            "test",
            Recording.Shell.BASH,
            "/",
            Duration.ofSeconds(1),
            List.of(),
            List.of(
                    new Recording.Turn(
                            Duration.ofMillis(200), List.of(new Recording.Command("a", 0), new Recording.View("/b"))),
                    new Recording.Turn(Duration.ofMillis(200), List.of(new Recording.Command("c", 0)))),
            null,
            null);
    private static final String TASK = "{'role': 'user', 'content': 'x'}";
    private static final String FIRST = "{'role': 'assistant', 'tool_calls': [{'id': 'call_0_0'}, {'id': 'call_0_1'}]}";
    private static final String RESULT = "{'role': 'tool', 'tool_call_id': 'call_0_0', 'content': ''}";
    private static final String OTHER_RESULT = "{'role': 'tool', 'tool_call_id': 'call_0_1', 'content': ''}";

    private final List<String> told = new ArrayList<>();

    private HttpResponse<String> ask(ReplayModel model, double speed, String... messages) throws Exception {
        String url =
                model.register("agent", new Trajectory(Path.of("none"), RECORDING), speed, new ReplayModel.Listener() {
                    @Override
                    public void asked(int turn, JsonNode chat, long nanos) {
                        told.add("asked " + turn);
                    }

                    @Override
                    public void answered(int turn, long nanos) {
                        told.add("answered " + turn);
                    }

                    @Override
                    public void refused(List<String> faults) {
                        told.addAll(faults);
                    }
                });
        String body = "{'messages': [" + String.join(",", messages) + "]}";
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create(url + "/chat/completions"))
                                .POST(HttpRequest.BodyPublishers.ofString(body.replace('\'', '"')))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void answer_isTheRecordedNextTurn_byTheChatAlone() throws Exception {
        try (ReplayModel model = new ReplayModel()) {
            JsonNode second =
                    Json.read(ask(model, 100, TASK, FIRST, RESULT, OTHER_RESULT).body());
            JsonNode first = Json.read(ask(model, 100, TASK).body());

            assertThat(first.at("/choices/0/message/tool_calls")).hasSize(2);
            assertThat(second.at("/choices/0/message/tool_calls/0/function/arguments")
                            .asText())
                    .isEqualTo("{\"command\":\"c\"}");
            assertThat(told).contains("asked 1", "asked 0");
        }
    }

    @Test
    void answer_takesTheRecordedTime_dividedByTheSpeed() throws Exception {
        try (ReplayModel model = new ReplayModel()) {
            long begin = System.nanoTime();
            ask(model, 1, TASK);
            assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThanOrEqualTo(Duration.ofMillis(200));
        }
    }

    @Test
    void aChatThatWasCutOff_isRefused() throws Exception {
        try (ReplayModel model = new ReplayModel()) {
            assertThat(ask(model, 100, TASK, FIRST, RESULT).statusCode()).isEqualTo(400);
            assertThat(told).containsExactly("call call_0_1 has no result");
        }
    }

    @Test
    void connections_areNotKept() throws Exception {
        try (ReplayModel model = new ReplayModel()) {
            // A server ends those that are idle for half a minute, maybe just when an agent whose tools took that long
            // asks.
            assertThat(ask(model, 1000, TASK).headers().firstValue("Connection"))
                    .hasValue("close");
        }
    }
}
