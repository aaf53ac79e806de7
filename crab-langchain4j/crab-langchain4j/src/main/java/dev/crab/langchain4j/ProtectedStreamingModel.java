package dev.crab.langchain4j;

import dev.langchain4j.model.ModelProvider;
import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.ChatRequestOptions;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.listener.ChatModelListener;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/** As {@link ProtectedChatModel}, of a model that streams. */
final class ProtectedStreamingModel implements StreamingChatModel {
    private final StreamingChatModel model;

    ProtectedStreamingModel(StreamingChatModel model) {
        this.model = model;
    }

    @Override
    public void chat(ChatRequest request, StreamingChatResponseHandler handler) {
        around(request, handler, model::chat);
    }

    @Override
    public void chat(ChatRequest request, ChatRequestOptions options, StreamingChatResponseHandler handler) {
        around(request, handler, (actual, wrapped) -> model.chat(actual, options, wrapped));
    }

    private void around(
            ChatRequest request,
            StreamingChatResponseHandler handler,
            BiConsumer<ChatRequest, StreamingChatResponseHandler> live) {
        ProtectedInvocation invocation = NextCall.take();
        if (invocation == null) {
            live.accept(request, handler);
        } else {
            invocation.stream(
                    request,
                    NextCall.describe(request, model.defaultRequestParameters(), model.getClass()),
                    handler,
                    live);
        }
    }

    @Override
    public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
        model.doChat(request, handler);
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
