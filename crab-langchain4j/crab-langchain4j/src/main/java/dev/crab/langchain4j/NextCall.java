package dev.crab.langchain4j;

import dev.crab.overlap.LlmCall;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import org.jspecify.annotations.Nullable;

/**
 * Whose the next call of a model on this thread is. LangChain4j fires the request-issued event on the thread that then calls the model,
 * streaming or not, and says nowhere else which invocation a call belongs to.
 */
final class NextCall {
    private static final ThreadLocal<@Nullable ProtectedInvocation> INVOCATION = new ThreadLocal<>();

    private NextCall() {}

    static void is(@Nullable ProtectedInvocation invocation) {
        if (invocation == null) {
            INVOCATION.remove();
        } else {
            invocation.callIssued();
            INVOCATION.set(invocation);
        }
    }

    static @Nullable ProtectedInvocation take() {
        ProtectedInvocation invocation = INVOCATION.get();
        INVOCATION.remove();
        return invocation;
    }

    /** What the request leaves open is the model's own default; a model without a name is told from others by its class. */
    static LlmCall describe(ChatRequest request, @Nullable ChatRequestParameters defaults, Class<?> model) {
        String name = request.modelName();
        Integer most = request.maxOutputTokens();
        if (defaults != null) {
            name = name == null ? defaults.modelName() : name;
            most = most == null ? defaults.maxOutputTokens() : most;
        }
        return new LlmCall(name == null ? model.getName() : name, most == null ? 0 : most);
    }
}
