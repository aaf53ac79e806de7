package dev.crab.langchain4j;

import dev.langchain4j.model.ModelProvider;
import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.ChatRequestOptions;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/** A chat model whose calls, where they belong to a protected invocation, pass through it. Any other call goes straight on. */
final class ProtectedChatModel implements ChatModel {
    private final ChatModel model;

    ProtectedChatModel(ChatModel model) {
        this.model = model;
    }

    @Override
    public ChatResponse chat(ChatRequest request) {
        return around(request, model::chat);
    }

    @Override
    public ChatResponse chat(ChatRequest request, ChatRequestOptions options) {
        return around(request, actual -> model.chat(actual, options));
    }

    private ChatResponse around(ChatRequest request, Function<ChatRequest, ChatResponse> live) {
        ProtectedInvocation invocation = NextCall.take();
        return invocation == null
                ? live.apply(request)
                : invocation.chat(
                        request, NextCall.describe(request, model.defaultRequestParameters(), model.getClass()), live);
    }

    @Override
    public ChatResponse doChat(ChatRequest request) {
        return model.doChat(request);
    }

    @Override
    public ChatRequestParameters defaultRequestParameters() {
        return model.defaultRequestParameters();
    }

    @Override
    public List<ChatModelListener> listeners() {
        return model.listeners();
    }

    @Override
    public ModelProvider provider() {
        return model.provider();
    }

    @Override
    public Set<Capability> supportedCapabilities() {
        return model.supportedCapabilities();
    }
}
