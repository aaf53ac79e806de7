package dev.crab.langchain4j;

import dev.crab.overlap.LlmCall;
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
import org.jspecify.annotations.Nullable;

/** A chat model whose calls, where they belong to a protected invocation, pass through it. Any other call goes straight on. */
final class ProtectedChatModel implements ChatModel {
    private static final ThreadLocal<@Nullable ProtectedInvocation> NEXT_CALL = new ThreadLocal<>();

    private final ChatModel model;

    ProtectedChatModel(ChatModel model) {
        this.model = model;
    }

    /** The next call of a model on this thread is that invocation's. */
    static void nextCallOf(@Nullable ProtectedInvocation invocation) {
        if (invocation == null) {
            NEXT_CALL.remove();
        } else {
            NEXT_CALL.set(invocation);
        }
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
        ProtectedInvocation invocation = NEXT_CALL.get();
        NEXT_CALL.remove();
        return invocation == null ? live.apply(request) : invocation.chat(request, call(request), live);
    }

    /** What the request leaves open is the model's own default; a model without a name is told from others by its class. */
    private LlmCall call(ChatRequest request) {
        String name = request.modelName();
        Integer most = request.maxOutputTokens();
        ChatRequestParameters defaults = model.defaultRequestParameters();
        if (defaults != null) {
            name = name == null ? defaults.modelName() : name;
            most = most == null ? defaults.maxOutputTokens() : most;
        }
        return new LlmCall(name == null ? model.getClass().getName() : name, most == null ? 0 : most);
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
