package dev.crab.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.invocation.InvocationContext;
import dev.langchain4j.service.tool.AiServiceTool;
import dev.langchain4j.service.tool.ToolArgumentsErrorHandler;
import dev.langchain4j.service.tool.ToolExecutionErrorHandler;
import dev.langchain4j.service.tool.ToolExecutionResult;
import dev.langchain4j.service.tool.ToolExecutor;
import dev.langchain4j.service.tool.ToolProvider;
import dev.langchain4j.service.tool.ToolProviderRequest;
import dev.langchain4j.service.tool.ToolProviderResult;
import dev.langchain4j.service.tool.ToolService;
import dev.langchain4j.service.tool.ToolServiceContext;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * LangChain4j's tool service, whose executors go through {@link ProtectedInvocation}. They are wrapped where an invocation gets them, not
 * where they are registered, because compensating actions look at the registered ones.
 *
 * <p>The user's error handlers run inside the wrapper, so that they run once and the journal holds what they made of the error. What a
 * handler throws must leave LangChain4j's own handling, which sits around the wrapper, untouched: it travels as {@link HandlerVerdict} and
 * is unpacked by the handlers that LangChain4j is given.
 */
final class ProtectedToolService extends ToolService {
    /** An exception that a user's error handler threw. */
    private static final class HandlerVerdict extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final RuntimeException verdict;

        HandlerVerdict(RuntimeException verdict) {
            super(verdict);
            this.verdict = verdict;
        }
    }

    private final ProtectedContext context;
    private volatile boolean compensates;

    ProtectedToolService(ProtectedContext context) {
        this.context = context;
    }

    @Override
    public void tools(Collection<Object> objectsWithTools) {
        context.refuseWhatIsKnownToFail(true);
        super.tools(objectsWithTools);
    }

    @Override
    public void compensateOnToolErrors(boolean compensateOnToolErrors) {
        super.compensateOnToolErrors(compensateOnToolErrors);
        compensates = compensateOnToolErrors;
    }

    /** Whether LangChain4j itself runs compensating actions: past the executors that are wrapped here, and again at every replay. */
    boolean compensates() {
        return compensates;
    }

    @Override
    public ToolServiceContext createContext(
            InvocationContext invocationContext, UserMessage userMessage, List<ChatMessage> messages) {
        ToolServiceContext plain = super.createContext(invocationContext, userMessage, messages);
        ProtectedInvocation invocation = context.find(invocationContext);
        if (invocation == null && !Crab.hub().isInUse()) {
            return plain;
        }
        if (plain.toolExecutors().isEmpty() && plain.dynamicToolProviders().isEmpty()) {
            return plain;
        }
        Map<String, ToolExecutor> wrapped = new HashMap<>();
        plain.toolExecutors().forEach((name, executor) -> wrapped.put(name, wrap(executor, invocation)));
        List<ToolProvider> providers = plain.dynamicToolProviders().stream()
                .<ToolProvider>map(provider -> new WrappedProvider(provider, invocation))
                .toList();
        return plain.toBuilder()
                .toolExecutors(wrapped)
                .dynamicToolProviders(providers)
                .build();
    }

    private ToolExecutor wrap(ToolExecutor executor, @Nullable ProtectedInvocation invocation) {
        return executor instanceof WrappedExecutor ? executor : new WrappedExecutor(executor, invocation);
    }

    @Override
    public ToolArgumentsErrorHandler argumentsErrorHandler() {
        ToolArgumentsErrorHandler handler = super.argumentsErrorHandler();
        return (error, errorContext) -> {
            rethrow(errorContext.rawError());
            return handler.handle(error, errorContext);
        };
    }

    @Override
    public ToolExecutionErrorHandler executionErrorHandler() {
        ToolExecutionErrorHandler handler = super.executionErrorHandler();
        return (error, errorContext) -> {
            rethrow(errorContext.rawError());
            return handler.handle(error, errorContext);
        };
    }

    private static void rethrow(Exception error) {
        if (error instanceof HandlerVerdict verdict) {
            throw verdict.verdict;
        }
    }

    private ToolExecutionResult handled(ToolExecutionRequest request, ToolExecutor executor, InvocationContext at) {
        return executeWithErrorHandling(
                request,
                executor,
                at,
                (error, errorContext) -> {
                    try {
                        return super.argumentsErrorHandler().handle(error, errorContext);
                    } catch (RuntimeException e) {
                        throw new HandlerVerdict(e);
                    }
                },
                (error, errorContext) -> {
                    try {
                        return super.executionErrorHandler().handle(error, errorContext);
                    } catch (RuntimeException e) {
                        throw new HandlerVerdict(e);
                    }
                });
    }

    /** One tool of one invocation. */
    private final class WrappedExecutor implements ToolExecutor {
        private final ToolExecutor executor;
        private final @Nullable ProtectedInvocation invocation;

        WrappedExecutor(ToolExecutor executor, @Nullable ProtectedInvocation invocation) {
            this.executor = executor;
            this.invocation = invocation;
        }

        @Override
        public String execute(ToolExecutionRequest request, Object memoryId) {
            return executor.execute(request, memoryId);
        }

        @Override
        public ToolExecutionResult executeWithContext(ToolExecutionRequest request, InvocationContext at) {
            if (invocation == null) {
                return RunningTool.unprotected(request.name())
                        .run(() -> ToolFailures.guard(executor).executeWithContext(request, at));
            }
            return invocation.tool(request, executor, () -> handled(request, ToolFailures.guard(executor), at));
        }
    }

    /** A provider that is asked again before every LLM call. */
    private final class WrappedProvider implements ToolProvider {
        private final ToolProvider provider;
        private final @Nullable ProtectedInvocation invocation;

        WrappedProvider(ToolProvider provider, @Nullable ProtectedInvocation invocation) {
            this.provider = provider;
            this.invocation = invocation;
        }

        @Override
        public @Nullable ToolProviderResult provideTools(ToolProviderRequest request) {
            ToolProviderResult provided = provider.provideTools(request);
            if (provided == null) {
                return null;
            }
            return ToolProviderResult.builder()
                    .addAll(provided.aiServiceTools().stream()
                            .map(tool -> AiServiceTool.builder()
                                    .toolSpecification(tool.toolSpecification())
                                    .toolExecutor(wrap(tool.toolExecutor(), invocation))
                                    .returnBehavior(tool.returnBehavior())
                                    .build())
                            .toList())
                    .build();
        }

        @Override
        public boolean isDynamic() {
            return true;
        }
    }
}
