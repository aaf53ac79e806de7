package dev.crab.langchain4j;

import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Puts the messages that an invocation first sent in the place of those that its resumption computed: templates with the time of day,
 * system messages made at run time and retrieved content come out differently the second time, and the model would see another
 * conversation than the one it answered.
 */
final class PromptPin {
    private final Map<ChatMessage, ChatMessage> recorded = new LinkedHashMap<>();
    private @Nullable List<ChatMessage> drifted;
    private @Nullable List<ChatMessage> whole;

    /** Pins the first request. */
    void pin(List<ChatMessage> now, List<ChatMessage> before) {
        if (now.size() == before.size()) {
            for (int i = 0; i < now.size(); i++) {
                if (!now.get(i).equals(before.get(i))) {
                    recorded.put(now.get(i), before.get(i));
                }
            }
        } else {
            drifted = List.copyOf(now);
            whole = List.copyOf(before);
        }
    }

    /** The request with the messages first sent. */
    ChatRequest apply(ChatRequest request) {
        List<ChatMessage> from = drifted;
        List<ChatMessage> to = whole;
        List<ChatMessage> messages = new ArrayList<>(request.messages());
        if (from != null && to != null) {
            if (messages.size() < from.size()
                    || !messages.subList(0, from.size()).equals(from)) {
                return request;
            }
            List<ChatMessage> joined = new ArrayList<>(to);
            joined.addAll(messages.subList(from.size(), messages.size()));
            messages = joined;
        } else if (recorded.isEmpty()) {
            return request;
        } else {
            messages.replaceAll(message -> recorded.getOrDefault(message, message));
        }
        return ChatRequest.builder()
                .messages(messages)
                .parameters(request.parameters())
                .build();
    }
}
