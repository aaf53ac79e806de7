package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.InvocationReplay;
import dev.crab.overlap.LlmCall;
import dev.crab.overlap.LlmWindow;
import dev.crab.overlap.ReplayScope;
import dev.crab.overlap.ToolAnswer;
import dev.crab.overlap.ToolEffect;
import dev.crab.overlap.TurnCoordinator;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.fault.FaultPoints;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.TokenUsage;
import dev.langchain4j.service.tool.ToolExecutionResult;
import dev.langchain4j.service.tool.ToolExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call of an AI service's method that a session protects. LLM calls come one after the other; tools of one response may run side by
 * side.
 */
final class ProtectedInvocation {
    private static final Logger LOG = LoggerFactory.getLogger(ProtectedInvocation.class);
    private static final String PROMPT = "prompt";
    private static final String MEMORY = "memory";

    private final SessionEntry entry;
    private final TurnCoordinator turns;
    private final InvocationReplay replay;
    private final @Nullable ChatMemory memory;
    private final Runnable onOver;
    private final AtomicBoolean over = new AtomicBoolean();
    private final PromptPin pin = new PromptPin();

    private ProtectedInvocation(
            SessionEntry entry,
            TurnCoordinator turns,
            InvocationReplay replay,
            @Nullable ChatMemory memory,
            Runnable onOver) {
        this.entry = entry;
        this.turns = turns;
        this.replay = replay;
        this.memory = memory;
        this.onOver = onOver;
    }

    /**
     * Begins an invocation, or takes up the one that the journal knows: then the chat memory is put back to what it held when that began.
     *
     * @param onOver runs when the invocation is over in any way
     */
    static ProtectedInvocation begin(
            SessionEntry entry,
            @Nullable ReplayScope scope,
            InvocationCall call,
            @Nullable ChatMemory memory,
            Runnable onOver) {
        entry.putBack();
        TurnCoordinator turns = entry.open().turns();
        ObjectNode details = node().put("method", call.method());
        if (memory != null) {
            details.set(MEMORY, MessageCodec.messages(memory.messages()));
        }
        InvocationReplay replay = turns.replay().begin(call.digest(), call.memory(), scope, details);
        if (memory != null) {
            if (replay.isResumed()) {
                MemoryRepair.set(memory, MessageCodec.messages(replay.details().path(MEMORY)));
            }
            replay.leftBehind().ifPresent(history -> MemoryRepair.leaveBehind(memory, history));
        }
        if (replay.isResumed()) {
            LOG.info("Session {} takes up {}", entry.id(), call.method());
        }
        return new ProtectedInvocation(entry, turns, replay, memory, onOver);
    }

    String sessionId() {
        return entry.id();
    }

    SessionEntry entry() {
        return entry;
    }

    /** An LLM call: the boundary of the turn before, then the journal's response, or the model's while the turn is committed. */
    ChatResponse chat(ChatRequest request, LlmCall call, Function<ChatRequest, ChatResponse> live) {
        ChatRequest pinned = pin.apply(request);
        String digest;
        Optional<ObjectNode> known;
        LlmWindow window;
        try {
            digest = MessageCodec.digest(pinned.messages());
            known = replay.nextResponse(digest);
            if (known.isPresent() && replay.index() == 1) {
                pinFirst(request.messages(), known.get());
            }
            window = turns.boundary(position(), call);
        } catch (CrabException e) {
            throw stop(e);
        }
        if (known.isPresent()) {
            window.close();
            LOG.debug("LLM call {} of {} is served from the journal", replay.index(), replay.key());
            return MessageCodec.response(known.get());
        }
        ChatResponse response;
        try (window) {
            response = live.apply(pinned);
            window.answered(outputTokens(response));
        } catch (Error e) {
            // LangChain4j tells nobody about an Error: the end of the invocation has to be seen here.
            failed();
            throw e;
        }
        try {
            ObjectNode payload = MessageCodec.response(response);
            if (replay.index() == 1) {
                payload.set(PROMPT, MessageCodec.messages(pinned.messages()));
                if (memory != null) {
                    payload.set(MEMORY, MessageCodec.messages(memory.messages()));
                }
            }
            replay.responded(digest, payload);
        } catch (CrabException e) {
            throw stop(e);
        }
        return response;
    }

    private static int outputTokens(ChatResponse response) {
        TokenUsage usage = response.tokenUsage();
        Integer output = usage == null ? null : usage.outputTokenCount();
        return output == null ? 0 : output;
    }

    private void pinFirst(List<ChatMessage> now, ObjectNode payload) {
        if (payload.has(PROMPT)) {
            pin.pin(now, MessageCodec.messages(payload.path(PROMPT)));
        }
        if (memory != null && payload.has(MEMORY)) {
            MemoryRepair.set(memory, MessageCodec.messages(payload.path(MEMORY)));
        }
    }

    private ObjectNode position() {
        return node().put("invocation", replay.key()).put("call", replay.index());
    }

    /**
     * A tool call: its recorded result, or the tool behind the gate.
     *
     * @param live runs the tool and the user's error handlers
     */
    ToolExecutionResult tool(ToolExecutionRequest request, ToolExecutor executor, Supplier<ToolExecutionResult> live) {
        try {
            CrabOptions.ToolDeclaration declared = ToolDeclarations.of(request.name(), executor);
            ToolAnswer answer = replay.tool(request.id(), request.name(), request.arguments(), declared.effect());
            if (answer instanceof ToolAnswer.Recorded recorded) {
                return MessageCodec.result(recorded.result(), executor);
            }
            if (answer instanceof ToolAnswer.Unknown unknown) {
                Optional<String> text = UnknownEffects.decide(request, unknown.toolKey(), declared.onUnknown());
                if (text.isPresent()) {
                    ToolExecutionResult told = ToolExecutionResult.builder()
                            .isError(true)
                            .resultText(text.get())
                            .build();
                    replay.finished(
                            unknown.toolKey(),
                            request.name(),
                            declared.effect(),
                            false,
                            MessageCodec.result(request, told));
                    return told;
                }
            }
            return run(request, declared.effect(), answer.toolKey(), live);
        } catch (CrabException e) {
            throw stop(e);
        } catch (Error e) {
            // As above: only we see it.
            failed();
            throw e;
        }
    }

    private ToolExecutionResult run(
            ToolExecutionRequest request, ToolEffect effect, String key, Supplier<ToolExecutionResult> live) {
        turns.toolStarts(request.name(), effect);
        RunningTool tool = RunningTool.of(request.name(), this, key);
        entry.toolStarts(tool);
        boolean recorded = false;
        try {
            FaultPoints.reach("tool.before");
            if (effect == ToolEffect.EXTERNAL) {
                replay.begun(key, request.name());
            }
            ToolExecutionResult result = withNotice(tool.run(live));
            FaultPoints.reach("tool.inside");
            replay.finished(key, request.name(), effect, tool.isSandboxUsed(), MessageCodec.result(request, result));
            recorded = true;
            FaultPoints.reach("tool.after");
            return result;
        } finally {
            entry.toolEnded(tool, recorded || (effect == ToolEffect.EXTERNAL && !tool.isSandboxUsed()));
            turns.toolEnded();
        }
    }

    /** Nothing that was lost in a restore is kept from the model. */
    private ToolExecutionResult withNotice(ToolExecutionResult result) {
        String notice = entry.takeNotice();
        if (notice == null) {
            return result;
        }
        List<Content> contents = new ArrayList<>(result.resultContents());
        contents.add(TextContent.from(notice));
        String text = contents.stream()
                .map(content -> content instanceof TextContent one ? one.text() : "")
                .collect(Collectors.joining());
        boolean textOnly = contents.stream().allMatch(TextContent.class::isInstance);
        ToolExecutionResult.Builder builder = ToolExecutionResult.builder()
                .isError(result.isError())
                .result(result.result())
                .attributes(result.attributes());
        return textOnly
                ? builder.resultText(text).build()
                : builder.resultContents(contents).build();
    }

    /** The service has its answer: the last turn is committed before the caller gets it. */
    void completed() {
        if (!over.compareAndSet(false, true)) {
            return;
        }
        try {
            turns.settle(position(), replay::end);
        } catch (CrabException e) {
            replay.release();
            turns.giveUp();
            throw new CrabError(e);
        } finally {
            onOver.run();
        }
    }

    /** The call failed: the same call, made again, takes it up where it stands. */
    void failed() {
        if (!over.compareAndSet(false, true)) {
            return;
        }
        try {
            replay.release();
            turns.giveUp();
        } finally {
            onOver.run();
        }
    }

    private CrabError stop(CrabException refusal) {
        failed();
        return new CrabError(refusal);
    }

    private static ObjectNode node() {
        return JsonNodeFactory.instance.objectNode();
    }
}
