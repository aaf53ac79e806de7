package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts the messages that an invocation first sent in the place of those that its resumption computed: templates with the time of day,
 * system messages made at run time and retrieved content come out differently the second time, and the model would see another
 * conversation than the one it answered.
 */
final class PromptPin {
    private static final Logger LOG = LoggerFactory.getLogger(PromptPin.class);
    private static final int SHOWN = 400;

    private final Map<ChatMessage, ChatMessage> recorded = new LinkedHashMap<>();
    private @Nullable List<ChatMessage> drifted;
    private @Nullable List<ChatMessage> whole;

    /**
     * Pins the first request.
     *
     * @throws CrabException REPLAY_DIVERGED if it differs and that is not allowed
     */
    void pin(List<ChatMessage> now, List<ChatMessage> before, OnDivergence onDivergence) {
        if (onDivergence != OnDivergence.PIN && !now.equals(before)) {
            CrabException diverged = CrabException.of(
                    ErrorCode.REPLAY_DIVERGED,
                    "a call that is taken up does not come to the messages that it sent before",
                    difference(now, before),
                    "make the prompt the same, or allow the difference: onDivergence(OnDivergence.PIN) keeps the messages first sent");
            if (onDivergence == OnDivergence.FAIL) {
                throw diverged;
            }
            LOG.warn("{}: {}; the messages first sent stay in force", diverged.what(), diverged.why());
        }
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

    /** From now on, requests that begin with the ones begin with the others instead. */
    void replace(List<ChatMessage> sent, List<ChatMessage> instead) {
        recorded.clear();
        drifted = List.copyOf(sent);
        whole = List.copyOf(instead);
    }

    private static String difference(List<ChatMessage> now, List<ChatMessage> before) {
        int same = 0;
        while (same < Math.min(now.size(), before.size()) && now.get(same).equals(before.get(same))) {
            same++;
        }
        return "message " + (same + 1) + " was " + shown(before, same) + " and is " + shown(now, same);
    }

    private static String shown(List<ChatMessage> messages, int index) {
        if (index >= messages.size()) {
            return "absent";
        }
        String text = messages.get(index).toString();
        return text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "…";
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
