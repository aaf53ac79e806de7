package dev.crab.samples.common;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The rules that OpenAI-compatible providers put on a chat with tool calls, and by which a chat that was cut off in the middle of a turn
 * is refused: every call has exactly one result right behind it, every result has its call, and no user message stands there twice.
 */
public final class ChatRules {
    private ChatRules() {}

    /**
     * What is wrong with a chat; empty if nothing.
     *
     * @param messages array of messages in the wire format of OpenAI's chat completions
     */
    public static List<String> faults(JsonNode messages) {
        List<String> faults = new ArrayList<>();
        Set<String> users = new HashSet<>();
        Set<String> open = new LinkedHashSet<>();
        Set<String> called = new HashSet<>();
        for (JsonNode message : messages) {
            String role = message.path("role").asText();
            if (role.equals("tool")) {
                String id = message.path("tool_call_id").asText();
                if (!open.remove(id)) {
                    faults.add("result of " + id + (called.contains(id) ? " stands there twice" : " has no call"));
                }
                continue;
            }
            dangling(open, faults);
            if (role.equals("user") && !users.add(message.path("content").toString())) {
                faults.add("a user message stands there twice");
            }
            for (JsonNode call : message.path("tool_calls")) {
                String id = call.path("id").asText();
                if (!called.add(id)) {
                    faults.add("call " + id + " stands there twice");
                }
                open.add(id);
            }
        }
        dangling(open, faults);
        return faults;
    }

    private static void dangling(Set<String> open, List<String> faults) {
        open.forEach(id -> faults.add("call " + id + " has no result"));
        open.clear();
    }
}
