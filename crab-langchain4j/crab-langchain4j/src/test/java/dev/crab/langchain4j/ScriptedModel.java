package dev.crab.langchain4j;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.matchingJsonPath;
import static com.github.tomakehurst.wiremock.client.WireMock.post;
import static com.github.tomakehurst.wiremock.client.WireMock.urlEqualTo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.client.MappingBuilder;
import com.github.tomakehurst.wiremock.core.WireMockConfiguration;
import com.github.tomakehurst.wiremock.verification.LoggedRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An OpenAI-compatible model over HTTP that follows a script. It keeps no state: what it answers depends on the newest tool result that a
 * request contains, so it goes on where a killed agent left off.
 */
final class ScriptedModel implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A tool call that the model asks for. */
    record Call(String id, String tool, String argumentName, String argument) {}

    private final WireMockServer server =
            new WireMockServer(WireMockConfiguration.options().dynamicPort());
    private int priority = 1000;

    ScriptedModel() {
        server.start();
    }

    String baseUrl() {
        return server.baseUrl() + "/v1";
    }

    WireMockServer server() {
        return server;
    }

    /** Answers with tool calls, once the result of call {@code after} is in the request (null: at the start). */
    ScriptedModel calls(@Nullable String after, Call... calls) {
        ObjectNode message = JSON.createObjectNode().put("role", "assistant").putNull("content");
        ArrayNode list = message.putArray("tool_calls");
        for (Call call : calls) {
            ObjectNode one = list.addObject().put("id", call.id()).put("type", "function");
            one.putObject("function")
                    .put("name", call.tool())
                    .put(
                            "arguments",
                            JSON.createObjectNode()
                                    .put(call.argumentName(), call.argument())
                                    .toString());
        }
        return stub(after, message, "tool_calls");
    }

    /** Answers with text, once the result of call {@code after} is in the request (null: at the start). */
    ScriptedModel says(@Nullable String after, String text) {
        return stub(after, JSON.createObjectNode().put("role", "assistant").put("content", text), "stop");
    }

    private ScriptedModel stub(@Nullable String after, ObjectNode message, String finish) {
        ObjectNode body = JSON.createObjectNode()
                .put("id", "chatcmpl-" + priority)
                .put("object", "chat.completion")
                .put("created", 1_700_000_000L)
                .put("model", "scripted")
                .put("system_fingerprint", "fp-" + priority);
        ObjectNode choice = body.putArray("choices").addObject().put("index", 0).put("finish_reason", finish);
        choice.set("message", message);
        ObjectNode usage = body.putObject("usage")
                .put("prompt_tokens", 10)
                .put("completion_tokens", 5)
                .put("total_tokens", 15);
        usage.putObject("prompt_tokens_details").put("cached_tokens", 3);
        answer(after, false, "application/json", body.toString());
        answer(after, true, "text/event-stream", events(body));
        return this;
    }

    private void answer(@Nullable String after, boolean streamed, String type, String body) {
        MappingBuilder mapping = post(urlEqualTo("/v1/chat/completions"))
                .atPriority(priority--)
                .withRequestBody(matchingJsonPath("$[?(@.stream " + (streamed ? "==" : "!=") + " true)]"));
        if (after != null) {
            mapping.withRequestBody(matchingJsonPath("$.messages[?(@.tool_call_id == '" + after + "')]"));
        }
        server.stubFor(
                mapping.willReturn(aResponse().withHeader("Content-Type", type).withBody(body)));
    }

    /** The same answer as a stream: each text in two pieces, each call with its arguments apart, and the usage at the end. */
    private static String events(ObjectNode whole) {
        StringBuilder events = new StringBuilder();
        JsonNode message = whole.path("choices").path(0).path("message");
        events.append(chunk(whole, JSON.createObjectNode().put("role", "assistant"), null));
        String text = message.path("content").asText("");
        int half = text.length() / 2;
        if (message.hasNonNull("content")) {
            events.append(chunk(whole, JSON.createObjectNode().put("content", text.substring(0, half)), null));
            events.append(chunk(whole, JSON.createObjectNode().put("content", text.substring(half)), null));
        }
        int index = 0;
        for (JsonNode call : message.path("tool_calls")) {
            ObjectNode head = JSON.createObjectNode();
            ObjectNode one = head.putArray("tool_calls").addObject().put("index", index);
            one.put("id", call.path("id").asText()).put("type", "function");
            one.putObject("function")
                    .put("name", call.path("function").path("name").asText())
                    .put("arguments", "");
            events.append(chunk(whole, head, null));
            ObjectNode rest = JSON.createObjectNode();
            rest.putArray("tool_calls")
                    .addObject()
                    .put("index", index++)
                    .putObject("function")
                    .put("arguments", call.path("function").path("arguments").asText());
            events.append(chunk(whole, rest, null));
        }
        events.append(chunk(
                whole,
                JSON.createObjectNode(),
                whole.path("choices").path(0).path("finish_reason").asText()));
        ObjectNode usage = head(whole);
        usage.putArray("choices");
        usage.set("usage", whole.path("usage"));
        return events.append("data: ")
                .append(usage)
                .append("\n\ndata: [DONE]\n\n")
                .toString();
    }

    private static String chunk(ObjectNode whole, ObjectNode delta, @Nullable String finish) {
        ObjectNode chunk = head(whole);
        ObjectNode choice =
                chunk.putArray("choices").addObject().put("index", 0).put("finish_reason", finish);
        choice.set("delta", delta);
        return "data: " + chunk + "\n\n";
    }

    private static ObjectNode head(ObjectNode whole) {
        ObjectNode head = JSON.createObjectNode().put("object", "chat.completion.chunk");
        for (String field : List.of("id", "created", "model", "system_fingerprint")) {
            head.set(field, whole.path(field));
        }
        return head;
    }

    /** Bodies of the requests so far, oldest first. */
    List<ObjectNode> requests() {
        List<ObjectNode> bodies = new ArrayList<>();
        for (LoggedRequest request : server.findAll(
                com.github.tomakehurst.wiremock.client.WireMock.postRequestedFor(urlEqualTo("/v1/chat/completions")))) {
            try {
                bodies.add((ObjectNode) JSON.readTree(request.getBodyAsString()));
            } catch (java.io.IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
        }
        return bodies;
    }

    @Override
    public void close() {
        server.stop();
    }
}
