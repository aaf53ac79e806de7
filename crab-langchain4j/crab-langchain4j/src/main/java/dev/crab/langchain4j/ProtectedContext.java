package dev.crab.langchain4j;

import dev.crab.overlap.ReplayScope;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.invocation.InvocationContext;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.observability.api.listener.AiServiceCompletedListener;
import dev.langchain4j.observability.api.listener.AiServiceErrorListener;
import dev.langchain4j.observability.api.listener.AiServiceRequestIssuedListener;
import dev.langchain4j.observability.api.listener.AiServiceStartedListener;
import dev.langchain4j.service.AiServiceContext;
import dev.langchain4j.service.TokenStream;
import dev.langchain4j.service.memory.ChatMemoryService;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * LangChain4j's context of one AI service, with Crab's tool service in it, and its chat model decorated when an invocation that a session
 * protects begins.
 *
 * <p>The started event is where an invocation begins or is taken up: it is fired before retrieval and before anything is added to the chat
 * memory. The request-issued event is fired on the thread that then calls the model, which is how the decorator knows whose call it is.
 * Only an {@link Error} leaves a listener of LangChain4j; hence {@link CrabError}.
 */
final class ProtectedContext extends AiServiceContext {
    private final Map<UUID, ProtectedInvocation> invocations = new ConcurrentHashMap<>();

    private final ProtectedToolService tools;

    /** What was the only session at an earlier call: it stays this service's, or its calls would go unprotected when another is named. */
    private volatile @Nullable SessionEntry only;

    ProtectedContext(Class<?> aiServiceClass) {
        super(aiServiceClass);
        tools = new ProtectedToolService(this);
        toolService = tools;
        eventListenerRegistrar.register(
                (AiServiceStartedListener) event -> guarded(() -> begin(event.invocationContext())));
        eventListenerRegistrar.register(
                (AiServiceRequestIssuedListener) event -> NextCall.is(find(event.invocationContext())));
        eventListenerRegistrar.register((AiServiceCompletedListener) event -> {
            ProtectedInvocation invocation =
                    invocations.remove(event.invocationContext().invocationId());
            if (invocation != null) {
                guarded(invocation::completed);
            }
        });
        eventListenerRegistrar.register((AiServiceErrorListener) event -> {
            ProtectedInvocation invocation =
                    invocations.remove(event.invocationContext().invocationId());
            if (invocation != null) {
                guarded(() -> invocation.failed(event.error()));
            }
            // Tools that run side by side end in a future, which wraps even an Error.
            CrabError wrapped = event.error() instanceof CrabError ? null : CrabError.within(event.error());
            if (wrapped != null) {
                throw wrapped;
            }
        });
    }

    @Nullable
    ProtectedInvocation find(@Nullable InvocationContext context) {
        return context == null ? null : invocations.get(context.invocationId());
    }

    private static void guarded(Runnable work) {
        try {
            work.run();
        } catch (CrabException e) {
            throw new CrabError(e);
        } catch (RuntimeException e) {
            // LangChain4j would log it, and the call would go on unprotected.
            throw new CrabError(CrabException.of(
                    ErrorCode.INTERNAL,
                    "the call of the AI service cannot be protected",
                    e.toString(),
                    "mend what failed (the chat memory's store, perhaps), or report this",
                    e));
        }
    }

    private void begin(InvocationContext context) {
        NextCall.is(null);
        RunningTool caller = RunningTool.current();
        ProtectedInvocation parent = caller == null ? null : caller.invocation();
        CrabSession ambient = CrabSession.current();
        SessionEntry assigned = assigned();
        SessionEntry entry;
        ReplayScope scope = null;
        if (caller != null && parent != null) {
            entry = parent.entry();
            scope = caller.scope();
        } else if (assigned != null) {
            entry = assigned;
            CrabSession run = CrabSession.onlyOpenRun(assigned);
            scope = run == null ? null : run.scope();
        } else if (ambient != null) {
            entry = ambient.entry();
            scope = ambient.scope();
        } else {
            entry = bySetting(context);
            // Agents that work side by side are called on threads of a pool, which are in no scope.
            CrabSession run = entry == null && !isManaged(context) ? null : CrabSession.onlyOpenRun(entry);
            if (run != null) {
                entry = run.entry();
                scope = run.scope();
            }
        }
        if (entry == null) {
            return;
        }
        refuseUnsupported(context);
        decorateModels();
        ChatMemory memory = hasChatMemory() ? chatMemoryService.getOrCreateChatMemory(context.chatMemoryId()) : null;
        UUID id = context.invocationId();
        ProtectedInvocation invocation = ProtectedInvocation.begin(
                entry, scope, InvocationCall.of(context, scope != null), memory, () -> invocations.remove(id));
        invocations.put(id, invocation);
    }

    private static boolean isManaged(InvocationContext context) {
        return context.managedParameters() != null
                && !context.managedParameters().isEmpty();
    }

    /** Again for every invocation: agents with a function for a model get one set for each of theirs. */
    private void decorateModels() {
        ChatModel model = chatModel;
        if (model != null && !(model instanceof ProtectedChatModel)) {
            chatModel = new ProtectedChatModel(model);
        }
        StreamingChatModel streaming = streamingChatModel;
        if (streaming != null && !(streaming instanceof ProtectedStreamingModel)) {
            streamingChatModel = new ProtectedStreamingModel(streaming);
        }
    }

    /**
     * Refuses what could only be refused at each of its calls, as early as that is known.
     *
     * @throws CrabException FRAMEWORK_UNSUPPORTED
     */
    void refuseWhatIsKnownToFail(boolean hasTools) {
        SessionHub hub = Crab.hub();
        String why = null;
        if (hub.options().services.containsKey(aiServiceClass.getName())) {
            why = "a session was named for it";
        } else if (CrabSession.current() != null) {
            why = "it is built inside a session";
        } else if (hub.known(hub.config().session()) != null || (hasTools && hub.only() != null)) {
            why = "its calls would belong to a session that the program has named";
        }
        Framework.ensureCovered(aiServiceClass, why);
    }

    private static boolean isNamed(@Nullable Object memoryId) {
        return memoryId != null && !memoryId.equals(ChatMemoryService.DEFAULT);
    }

    private static @Nullable SessionEntry byMemory(InvocationContext context) {
        Object memoryId = context.chatMemoryId();
        return isNamed(memoryId) ? Crab.hub().known(String.valueOf(memoryId)) : null;
    }

    /** Agents that work together may each have a session of their own, which nothing in their calls tells. */
    private @Nullable SessionEntry assigned() {
        String session = Crab.hub().options().services.get(aiServiceClass.getName());
        return session == null ? null : Crab.hub().entry(session, null);
    }

    private @Nullable SessionEntry bySetting(InvocationContext context) {
        SessionHub hub = Crab.hub();
        SessionEntry byMemory = byMemory(context);
        if (byMemory != null) {
            return byMemory;
        }
        SessionEntry configured = hub.known(hub.config().session());
        if (configured != null) {
            return configured;
        }
        boolean hasTools = !toolService.toolExecutors().isEmpty()
                || !toolService.toolProviders().isEmpty();
        return hasTools && !isNamed(context.chatMemoryId()) ? only(hub) : null;
    }

    private @Nullable SessionEntry only(SessionHub hub) {
        SessionEntry before = only;
        if (before == null || hub.known(before.id()) != before) { // Crab was closed since
            only = before = hub.only();
        }
        return before;
    }

    private void refuseUnsupported(InvocationContext context) {
        if (tools.compensates()) {
            throw CrabException.of(
                    ErrorCode.FRAMEWORK_UNSUPPORTED,
                    context.interfaceName() + "." + context.methodName() + " cannot be protected",
                    "it is built with compensateOnToolErrors: its compensating actions are in no journal, and after a crash they would run"
                            + " again",
                    "give the model tools that undo, use RollbackTools for what is in the sandbox, or call it outside the session");
        }
        for (Method method : aiServiceClass.getMethods()) {
            if (method.getName().equals(context.methodName())
                    && method.getParameterCount() == context.methodArguments().size()) {
                Class<?> type = method.getReturnType();
                if (Framework.isAsynchronous(type)) {
                    throw unsupported(context, "its method returns " + type.getName() + " before the work is done");
                }
                if (chatModel == null && !TokenStream.class.isAssignableFrom(type)) {
                    throw unsupported(context, "it has a streaming model only, and its method does not stream");
                }
            }
        }
    }

    private static CrabException unsupported(InvocationContext context, String why) {
        return CrabException.of(
                ErrorCode.FRAMEWORK_UNSUPPORTED,
                context.interfaceName() + "." + context.methodName() + " cannot be protected",
                why,
                "use a method that returns the answer itself or a TokenStream, or call it outside the session");
    }
}
