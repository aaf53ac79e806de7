package dev.crab.samples.replay;

import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.samples.common.FileChatMemoryStore;
import dev.crab.samples.common.Recording;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.service.AiServices;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A life of an agent without Crab. One that finds a chat takes it up as well as can be, and says so to the model.
 *
 * @param closing ends the sandbox
 */
record PlainLife(
        AgentPlan.Agent agent,
        Recording recording,
        Sandbox sandbox,
        int recovered,
        TurnSaver saving,
        Consumer<TurnRow> turns,
        Runnable closing)
        implements Policy.Life {
    @Override
    public String work() {
        FileChatMemoryStore store = new FileChatMemoryStore(PlainStore.chat(agent));
        List<ChatMessage> messages = answered(store.getMessages(agent.name()));
        store.updateMessages(agent.name(), messages);
        Coder coder = AiServices.builder(Coder.class)
                .chatModel(new SavingModel(AgentModel.at(agent.model()), saving, turns))
                .chatMemory(MessageWindowChatMemory.builder()
                        .id(agent.name())
                        .maxMessages(AgentModel.LONGEST_CHAT)
                        .chatMemoryStore(store)
                        .build())
                .maxToolCallingRoundTrips(AgentModel.LONGEST_CHAT)
                .tools(new RecordedTools(sandbox, recording))
                .build();
        return coder.chat(
                messages.isEmpty()
                        ? AgentModel.TASK
                        : "You were interrupted after " + messages.size() + " messages. Go on.");
    }

    /**
     * Without the last reply if not all of its calls have a result, and without a question that has no reply: no provider takes a chat with
     * the one, and the other is asked again.
     */
    private static List<ChatMessage> answered(List<ChatMessage> messages) {
        List<ChatMessage> kept = new ArrayList<>(messages);
        int last = kept.size() - 1;
        while (last >= 0 && !(kept.get(last) instanceof AiMessage)) {
            last--;
        }
        if (last >= 0 && kept.get(last) instanceof AiMessage reply && reply.hasToolExecutionRequests()) {
            long results = kept.subList(last, kept.size()).stream()
                    .filter(message -> message instanceof ToolExecutionResultMessage)
                    .count();
            if (results < reply.toolExecutionRequests().size()) {
                kept = kept.subList(0, last);
            }
        }
        while (!kept.isEmpty() && kept.get(kept.size() - 1) instanceof UserMessage) {
            kept = kept.subList(0, kept.size() - 1);
        }
        return List.copyOf(kept);
    }

    @Override
    public void close() {
        closing.run();
    }
}
