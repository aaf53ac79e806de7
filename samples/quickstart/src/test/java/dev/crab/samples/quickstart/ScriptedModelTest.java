package dev.crab.samples.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class ScriptedModelTest {
    private static final ScriptedModel MODEL = new ScriptedModel();
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    @AfterAll
    static void stop() {
        MODEL.close();
    }

    @Test
    void model_followsTheScript_byTheResultsInTheRequestAlone() throws Exception {
        ArrayNode messages = chat();
        for (Script.Response response : Script.responses()) {
            HttpResponse<String> answer = ask("follow", messages);
            assertThat(answer.statusCode()).isEqualTo(200);
            JsonNode message = Json.read(answer.body()).at("/choices/0/message");
            assertThat(message.path("tool_calls")).hasSize(response.calls().size());
            if (response.text() != null) {
                assertThat(message.path("content").asText())
                        .isEqualTo("Tests: OK. Released from /root/shop release 2.4. Counter: total=7.");
            }
            messages.add(message);
            response.calls().forEach(call -> result(messages, call.id()));
        }
        assertThat(MODEL.requests("follow")).isEqualTo(Script.responses().size());
        assertThat(MODEL.refusals("follow")).isEmpty();
    }

    @Test
    void model_refusesAChatWithADanglingCall_asProvidersDo() throws Exception {
        ArrayNode messages = chat();
        messages.add(Json.read(ask("dangling", messages).body()).at("/choices/0/message"));
        messages.addAll(List.of(messages.get(0)));

        HttpResponse<String> answer = ask("dangling", messages);

        assertThat(answer.statusCode()).isEqualTo(400);
        assertThat(MODEL.refusals("dangling"))
                .contains("call call_1a has no result", "a user message stands there twice");
        assertThat(MODEL.refusals("follow")).isEmpty();
    }

    private static ArrayNode chat() {
        ArrayNode messages = Json.object().putArray("messages");
        messages.addObject().put("role", "user").put("content", Script.TASK);
        return messages;
    }

    private static void result(ArrayNode messages, String call) {
        String content = switch (call) {
            case "call_10b" -> "OK\n";
            case "call_11a" -> "/root/shop release 2.4\n";
            case "call_11b" -> "{\"pid\": 20, \"token\": \"0123456789abcdef\", \"total\": 7}\n";
            default -> "done";
        };
        messages.addObject().put("role", "tool").put("tool_call_id", call).put("content", content);
    }

    private static HttpResponse<String> ask(String run, ArrayNode messages) throws IOException, InterruptedException {
        ObjectNode body = Json.object().put("model", "scripted").put("stream", false);
        body.set("messages", messages);
        return CLIENT.send(
                HttpRequest.newBuilder(URI.create(MODEL.baseUrl(run, 1000) + "/chat/completions"))
                        .POST(HttpRequest.BodyPublishers.ofString(Json.write(body)))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }
}
