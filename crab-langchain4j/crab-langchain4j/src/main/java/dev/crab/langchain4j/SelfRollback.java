package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.InvocationReplay;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.model.chat.request.ChatRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Going back on the model's own wish, within one invocation: asked for by a tool, done when all tools of the response have ended and the
 * next LLM call is about to leave. That call then has the messages of that turn, and a note of what was tried.
 */
final class SelfRollback {
    private final SessionEntry entry;
    private final InvocationReplay replay;
    private final PromptPin pin;
    private final @Nullable ChatMemory memory;
    private List<ChatMessage> firstSent = List.of();
    private List<ChatMessage> firstMemory = List.of();
    private @Nullable Wish wish;

    private record Wish(long turn, String why) {}

    SelfRollback(SessionEntry entry, InvocationReplay replay, PromptPin pin, @Nullable ChatMemory memory) {
        this.entry = entry;
        this.replay = replay;
        this.pin = pin;
        this.memory = memory;
    }

    /** The messages of the first LLM call, with what is told before it at their end. */
    void first(List<ChatMessage> sent) {
        int told = replay.notes(1).size();
        firstSent = List.copyOf(sent.subList(0, sent.size() - told));
        List<ChatMessage> kept = memory == null ? List.of() : memory.messages();
        firstMemory = List.copyOf(kept.subList(0, Math.max(0, kept.size() - told)));
    }

    /** A tool wants to go back to that turn. */
    synchronized void wish(long turn, String why) {
        wish = new Wish(turn, why);
    }

    private synchronized @Nullable Wish takeWish() {
        Wish taken = wish;
        wish = null;
        return taken;
    }

    /** Before an LLM call: goes back if that is wished; gives what is to be sent, by the messages first sent. */
    ChatRequest before(ChatRequest request) {
        Wish wanted = takeWish();
        ChatRequest next = request;
        if (wanted != null) {
            entry.rollback(turns -> turns.rollbackTo(
                    wanted.turn(), wanted.why(), replay, outside -> Notices.wentBack(outside, wanted.why())));
            next = with(request, request.messages(), joined(firstSent));
            if (memory != null) {
                MemoryRepair.set(memory, joined(firstMemory));
            }
        }
        List<ChatMessage> notes = notes(replay.index() + 1);
        next = pin.apply(next);
        if (notes.isEmpty()) {
            return next;
        }
        List<ChatMessage> told = new ArrayList<>(next.messages());
        told.addAll(notes);
        if (memory != null) {
            notes.forEach(memory::add);
        }
        return with(next, request.messages(), told);
    }

    /** In place of what LangChain4j has: for good where it keeps the messages itself, for this call where a chat memory does. */
    private ChatRequest with(ChatRequest request, List<ChatMessage> sent, List<ChatMessage> instead) {
        if (memory == null) {
            pin.replace(sent, instead);
        }
        return ChatRequest.builder()
                .messages(instead)
                .parameters(request.parameters())
                .build();
    }

    private List<ChatMessage> notes(int call) {
        return replay.notes(call).stream().<ChatMessage>map(UserMessage::from).toList();
    }

    /** These messages and what has come since that counts. */
    private List<ChatMessage> joined(List<ChatMessage> first) {
        List<ChatMessage> messages = new ArrayList<>(first);
        InvocationReplay.History history = replay.soFar();
        for (int i = 0; i < history.responses().size(); i++) {
            messages.addAll(notes(i + 1));
            messages.add(MessageCodec.aiMessage(history.responses().get(i)));
            for (ObjectNode result : history.results().get(i)) {
                if (result.path("result") instanceof ObjectNode one) {
                    messages.add(MessageCodec.resultMessage(one));
                }
            }
        }
        return messages;
    }
}
