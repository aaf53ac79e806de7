package dev.crab.samples.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a model answers. It keeps no state: the newest of its steps whose conditions a request meets is the answer, so an agent that was
 * started again is answered as the first one was. Built by one thread, then read by several.
 */
final class Script {
    /** A tool call that the model asks for. */
    record Call(String id, String tool, Map<String, Object> arguments) {}

    private record Step(@Nullable String text, @Nullable String after, ObjectNode message) {
        boolean meets(JsonNode messages) {
            return (text == null || Script.contains(messages, "content", text))
                    && (after == null || Script.contains(messages, "tool_call_id", after));
        }
    }

    private final List<Step> steps = new ArrayList<>();
    private @Nullable String text;

    private static boolean contains(JsonNode messages, String field, String wanted) {
        for (JsonNode message : messages) {
            if (message.path(field).toString().contains(wanted)) {
                return true;
            }
        }
        return false;
    }

    static Call append(String id, String line) {
        return new Call(id, "append", Map.of("line", line));
    }

    /** The steps that follow are for requests with a message that contains this text. */
    Script when(@Nullable String contained) {
        text = contained;
        return this;
    }

    /** Tool calls, once the result of call {@code after} is in the request (null: at the start). */
    Script calls(@Nullable String after, Call... calls) {
        ObjectNode message = Json.object().put("role", "assistant").putNull("content");
        ArrayNode list = message.putArray("tool_calls");
        for (Call call : calls) {
            ObjectNode one = list.addObject().put("id", call.id()).put("type", "function");
            one.putObject("function").put("name", call.tool()).put("arguments", Json.write(call.arguments()));
        }
        steps.add(new Step(text, after, message));
        return this;
    }

    /** Text, once the result of call {@code after} is in the request (null: at the start). */
    Script says(@Nullable String after, String answer) {
        steps.add(new Step(text, after, Json.object().put("role", "assistant").put("content", answer)));
        return this;
    }

    /** The message that answers these; null if the script does not know any. */
    @Nullable
    ObjectNode answer(JsonNode messages) {
        ObjectNode answer = null;
        for (Step step : steps) {
            if (step.meets(messages)) {
                answer = step.message();
            }
        }
        return answer;
    }
}
