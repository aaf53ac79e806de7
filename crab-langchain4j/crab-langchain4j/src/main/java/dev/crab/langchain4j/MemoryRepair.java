package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.InvocationReplay.History;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.memory.ChatMemory;
import java.util.ArrayList;
import java.util.List;

/** Puts a chat memory to where the sandbox is. */
final class MemoryRepair {
    private MemoryRepair() {}

    /** Replaces the content; an empty list too, which {@link ChatMemory#set(Iterable)} refuses. */
    static void set(ChatMemory memory, List<ChatMessage> messages) {
        if (messages.isEmpty()) {
            memory.clear();
        } else {
            memory.set(messages);
        }
    }

    /**
     * An invocation was left unfinished and another call comes: the memory keeps of it what the sandbox contains, whole turns only, since
     * providers refuse a history with a tool call that has no result.
     */
    static void leaveBehind(ChatMemory memory, History history) {
        if (history.responses().isEmpty() || !history.responses().get(0).has("memory")) {
            set(memory, MessageCodec.messages(history.details().path("memory")));
            return;
        }
        List<ChatMessage> messages =
                new ArrayList<>(MessageCodec.messages(history.responses().get(0).path("memory")));
        int whole = messages.size();
        for (int i = 0; i < history.responses().size(); i++) {
            AiMessage said = MessageCodec.aiMessage(history.responses().get(i));
            List<ObjectNode> results = history.results().get(i);
            messages.add(said);
            results.forEach(result -> {
                if (result.path("result") instanceof ObjectNode one) {
                    messages.add(MessageCodec.resultMessage(one));
                }
            });
            if (results.size() < said.toolExecutionRequests().size()) {
                break;
            }
            whole = messages.size();
        }
        if (whole < messages.size()) {
            messages.subList(whole, messages.size()).clear();
        }
        set(memory, messages);
    }

    /** Takes away a last turn whose tool calls do not all have results: providers refuse them. The rest stays as it is. */
    static void cut(ChatMemory memory) {
        List<ChatMessage> messages = memory.messages();
        int end = messages.size();
        while (end > 0 && messages.get(end - 1) instanceof ToolExecutionResultMessage) {
            end--;
        }
        if (end > 0
                && messages.get(end - 1) instanceof AiMessage said
                && said.toolExecutionRequests().size() > messages.size() - end) {
            set(memory, List.copyOf(messages.subList(0, end - 1)));
        }
    }
}
