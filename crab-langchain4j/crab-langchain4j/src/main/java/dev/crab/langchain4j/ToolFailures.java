package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.exception.ToolArgumentsException;
import dev.langchain4j.invocation.InvocationContext;
import dev.langchain4j.service.tool.ToolExecutionResult;
import dev.langchain4j.service.tool.ToolExecutor;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Tells a tool's own failure, which is the model's business, from Crab's, which ends the run: a lost sandbox or a nested invocation that
 * could not commit must not become text for the model.
 */
final class ToolFailures {
    /** Refusals that say something about what the tool asked for. */
    private static final Set<ErrorCode> OF_THE_TOOL =
            EnumSet.of(ErrorCode.FILE_OPERATION_FAILED, ErrorCode.EXEC_FAILED, ErrorCode.NAME_INVALID);

    private ToolFailures() {}

    /** What the tool, or the user's error handler, has thrown: LangChain4j's to deal with, unlike what Crab throws around it. */
    static final class OfTheTool extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final RuntimeException thrown;

        private OfTheTool(RuntimeException thrown) {
            super(thrown);
            this.thrown = thrown;
        }

        RuntimeException thrown() {
            return thrown;
        }
    }

    /** Runs the tool, and marks as its own what it throws. */
    static ToolExecutionResult mark(Supplier<ToolExecutionResult> live) {
        try {
            return live.get();
        } catch (CrabException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new OfTheTool(e);
        }
    }

    /** The executor, with Crab's own failures leaving it as errors. */
    static ToolExecutor guard(ToolExecutor executor) {
        return new ToolExecutor() {
            @Override
            public String execute(ToolExecutionRequest request, Object memoryId) {
                return executor.execute(request, memoryId);
            }

            @Override
            public ToolExecutionResult executeWithContext(ToolExecutionRequest request, InvocationContext context) {
                try {
                    return executor.executeWithContext(request, context);
                } catch (ToolArgumentsException e) {
                    // LangChain4j's error handler gets, and throws, what lies behind it.
                    RunningTool tool = RunningTool.current();
                    if (tool != null) {
                        tool.notCalled();
                    }
                    throw e;
                } catch (RuntimeException e) {
                    CrabError fatal = fatal(e);
                    if (fatal != null) {
                        throw fatal;
                    }
                    throw e;
                }
            }
        };
    }

    private static @Nullable CrabError fatal(Throwable thrown) {
        CrabError error = CrabError.within(thrown);
        return error != null
                ? error
                : CrabError.causes(thrown)
                        .filter(cause ->
                                cause instanceof CrabException refusal && !OF_THE_TOOL.contains(refusal.code()))
                        .map(refusal -> new CrabError((CrabException) refusal))
                        .findFirst()
                        .orElse(null);
    }
}
