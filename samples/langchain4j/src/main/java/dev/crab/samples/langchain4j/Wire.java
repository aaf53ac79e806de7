package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.Json;
import org.jspecify.annotations.Nullable;

/** An assistant's message in the wire format of OpenAI's chat completions, whole or as a stream of events. */
final class Wire {
    private Wire() {}

    static ObjectNode completion(ObjectNode message) {
        ObjectNode body = head("chat.completion");
        ObjectNode choice = body.putArray("choices").addObject().put("index", 0).put("finish_reason", finish(message));
        choice.set("message", message);
        body.set("usage", usage());
        return body;
    }

    static String events(ObjectNode message) {
        StringBuilder events = new StringBuilder();
        events.append(chunk(Json.object().put("role", "assistant"), null));
        String text = message.path("content").asText("");
        if (message.hasNonNull("content")) {
            int half = text.length() / 2;
            events.append(chunk(Json.object().put("content", text.substring(0, half)), null));
            events.append(chunk(Json.object().put("content", text.substring(half)), null));
        }
        int index = 0;
        for (JsonNode call : message.path("tool_calls")) {
            ObjectNode delta = Json.object();
            ObjectNode one = delta.putArray("tool_calls").addObject().put("index", index++);
            one.setAll((ObjectNode) call.deepCopy());
            events.append(chunk(delta, null));
        }
        events.append(chunk(Json.object(), finish(message)));
        ObjectNode last = head("chat.completion.chunk");
        last.putArray("choices");
        last.set("usage", usage());
        return events + event(last) + "data: [DONE]\n\n";
    }

    private static String chunk(ObjectNode delta, @Nullable String finish) {
        ObjectNode chunk = head("chat.completion.chunk");
        ObjectNode choice =
                chunk.putArray("choices").addObject().put("index", 0).put("finish_reason", finish);
        choice.set("delta", delta);
        return event(chunk);
    }

    private static String event(ObjectNode body) {
        return "data: " + Json.write(body) + "\n\n";
    }

    private static ObjectNode head(String object) {
        return Json.object()
                .put("id", "chatcmpl-1")
                .put("object", object)
                .put("created", 1767225600L)
                .put("model", "scripted");
    }

    private static String finish(ObjectNode message) {
        return message.has("tool_calls") ? "tool_calls" : "stop";
    }

    private static ObjectNode usage() {
        return Json.object()
                .put("prompt_tokens", 10)
                .put("completion_tokens", 5)
                .put("total_tokens", 15);
    }
}
