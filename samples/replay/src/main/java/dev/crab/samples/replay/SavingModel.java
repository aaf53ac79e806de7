package dev.crab.samples.replay;

import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** A model whose calls come at the end of a turn, and so are the place to save it. */
record SavingModel(ChatModel model, TurnSaver saving, Consumer<TurnRow> turns) implements ChatModel {
    @Override
    public ChatResponse chat(ChatRequest request) {
        List<ChatMessage> messages = request.messages();
        if (!(messages.get(messages.size() - 1) instanceof ToolExecutionResultMessage)) {
            return model.chat(request); // the chat begins, or goes on after a crash: nothing has run since
        }
        int turn = (int) messages.stream()
                .filter(message -> message instanceof AiMessage ai && ai.hasToolExecutionRequests())
                .count();
        Supplier<TurnRow> saved = saving.begin(turn);
        long asked = System.nanoTime();
        ChatResponse response = model.chat(request);
        long answered = System.nanoTime();
        TurnRow row = saved.get();
        turns.accept(row.within(answered - asked, row.exposed() + (System.nanoTime() - answered)));
        return response;
    }

    @Override
    public ChatRequestParameters defaultRequestParameters() {
        return model.defaultRequestParameters();
    }
}
