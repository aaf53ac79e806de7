package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.InvocationReplay;
import dev.crab.overlap.LlmCall;
import dev.crab.overlap.LlmWindow;
import dev.crab.overlap.ReplayScope;
import dev.crab.overlap.SessionReplay;
import dev.crab.overlap.ToolAnswer;
import dev.crab.overlap.ToolEffect;
import dev.crab.overlap.TurnCoordinator;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.output.TokenUsage;
import dev.langchain4j.service.tool.ToolExecutionResult;
import dev.langchain4j.service.tool.ToolExecutor;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call of an AI service's method that a session protects. LLM calls come one after the other; tools of one response may run side by
 * side.
 *
 * <p>Longer than most classes here because all ways into and out of a call, which exclude one another, stand side by side.
 */
final class ProtectedInvocation {
    private static final Logger LOG = LoggerFactory.getLogger(ProtectedInvocation.class);
    private static final String PROMPT = "prompt";
    private static final String MEMORY = "memory";
    private static final String SHARED = "shared";

    private final SessionEntry entry;
    private final TurnCoordinator turns;
    private final InvocationReplay replay;
    private final @Nullable ChatMemory memory;
    private final Runnable onOver;
    private final AtomicBoolean over = new AtomicBoolean();

    /** The tool that made this call, if one did. */
    private final @Nullable RunningTool caller = RunningTool.current();

    /** What this call failed with, if it was a refusal; set before {@link #over}. */
    private volatile @Nullable CrabException stopped;

    private final PromptPin pin = new PromptPin();
    private final SelfRollback back;
    /** A tool has failed by itself, and that ended the call: the response was as good as any. */
    private volatile boolean toolFailed;

    /** A tool was not called, since what the model gave it cannot be its arguments. */
    private volatile boolean argumentsRefused;

    private final AtomicInteger issued = new AtomicInteger();
    private final AtomicInteger calls = new AtomicInteger();

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
        this.back = new SelfRollback(entry, replay, pin, memory);
    }

    InvocationReplay replay() {
        return replay;
    }

    SelfRollback back() {
        return back;
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
        SessionReplay session = turns.replay();
        boolean shared = memory != null && call.hasLastingMemory() && entry.isShared(call.memory(), memory);
        InvocationReplay replay = session.begin(call.digest(), call.memory(), scope, leftBehind -> {
            ObjectNode details = node().put("method", call.method());
            if (memory != null) {
                // What is recorded is what is in order: a call that is taken up begins with it.
                if (call.hasLastingMemory()) {
                    session.putBack(call.memory())
                            .ifPresent(before -> putBack(entry, call, memory, before, shared || isShared(before)));
                    leftBehind.ifPresent(history -> {
                        if (shared || isShared(history.details())) {
                            MemoryRepair.cut(memory);
                        } else {
                            MemoryRepair.leaveBehind(memory, history);
                        }
                    });
                }
                details.set(MEMORY, MessageCodec.messages(memory.messages()));
                if (shared) {
                    details.put(SHARED, true);
                }
            }
            return details;
        });
        if (replay.isResumed()) {
            if (memory != null) {
                MemoryRepair.set(memory, MessageCodec.messages(replay.details().path(MEMORY)));
            }
            LOG.info("Session {} takes up {}", entry.id(), call.method());
        }
        return new ProtectedInvocation(entry, turns, replay, memory, onOver);
    }

    private static boolean isShared(ObjectNode details) {
        return details.path(SHARED).asBoolean();
    }

    private static void putBack(
            SessionEntry entry, InvocationCall call, ChatMemory memory, ObjectNode before, boolean shared) {
        if (shared) {
            throw CrabException.of(
                    ErrorCode.STATE_INVALID,
                    call.method() + " cannot go on behind the rollback of session " + entry.id(),
                    "chat memories that differ are all known as " + call.memory()
                            + ", and nothing tells which of them has to go back",
                    "give the AI services memory ids, or a session each");
        }
        MemoryRepair.set(memory, MessageCodec.messages(before.path(MEMORY)));
    }

    @Nullable
    RunningTool caller() {
        return caller;
    }

    String sessionId() {
        return entry.id();
    }

    SessionEntry entry() {
        return entry;
    }

    /** LangChain4j has announced an LLM call of this invocation. */
    void callIssued() {
        issued.incrementAndGet();
    }

    /**
     * An LLM call under way.
     *
     * @param request with the messages first sent
     * @param sent these
     * @param known the response that the journal holds
     */
    record ModelCall(ChatRequest request, SentMessages sent, Optional<ChatResponse> known, LlmWindow window) {}

    /** An LLM call: the boundary of the turn before, then the journal's response, or the model's while the turn is committed. */
    ChatResponse chat(ChatRequest request, LlmCall description, Function<ChatRequest, ChatResponse> live) {
        ModelCall call = next(request, description);
        if (call.known().isPresent()) {
            return call.known().get();
        }
        ChatResponse response;
        try {
            response = live.apply(call.request());
        } catch (RuntimeException e) {
            call.window().close();
            throw e;
        } catch (Error e) {
            // LangChain4j tells nobody about an Error: the end of the invocation has to be seen here.
            call.window().close();
            failed();
            throw e;
        }
        answered(call, response);
        return response;
    }

    /** As {@link #chat}, of a model that streams. */
    void stream(
            ChatRequest request,
            LlmCall description,
            StreamingChatResponseHandler handler,
            BiConsumer<ChatRequest, StreamingChatResponseHandler> live) {
        ModelCall call = next(request, description);
        ProtectedStream stream = new ProtectedStream(this, call, handler);
        if (call.known().isPresent()) {
            ReplayThreads.run(() -> stream.replay(call.known().get()));
            return;
        }
        try {
            live.accept(call.request(), stream);
        } catch (RuntimeException | Error e) {
            // Nobody else would see it: a stream is started outside the service's method.
            call.window().close();
            failed();
            throw e;
        }
    }

    private ModelCall next(ChatRequest request, LlmCall description) {
        try {
            refuseAfterEnd("an LLM call");
            calls.incrementAndGet();
            ChatRequest pinned = back.before(request);
            SentMessages messages = new SentMessages(pinned.messages());
            Optional<ObjectNode> known = replay.nextResponse(messages::digest);
            if (known.isPresent() && replay.index() == 1) {
                pinFirst(request.messages(), pinned.messages(), known.get());
            }
            if (replay.index() == 1) {
                JsonNode sent = known.map(payload -> payload.path(PROMPT)).orElse(MissingNode.getInstance());
                back.first(sent.isMissingNode() ? pinned.messages() : MessageCodec.messages(sent));
            }
            LlmWindow window = turns.boundary(position(), description);
            if (known.isPresent()) {
                window.close();
                LOG.debug("LLM call {} of {} is served from the journal", replay.index(), replay.key());
            } else {
                turns.beside(messages.work());
            }
            return new ModelCall(pinned, messages, known.map(MessageCodec::response), window);
        } catch (CrabException e) {
            throw stop(e);
        }
    }

    /** The model has answered: durable on return. */
    void answered(ModelCall call, ChatResponse response) {
        call.window().answered(outputTokens(response));
        try {
            ObjectNode payload = MessageCodec.response(response);
            if (replay.index() == 1) {
                payload.set(PROMPT, call.sent().json());
                if (memory != null) {
                    List<ChatMessage> kept = memory.messages();
                    boolean asSent = kept.equals(call.sent().messages());
                    payload.set(MEMORY, asSent ? call.sent().json() : MessageCodec.messages(kept));
                }
            }
            replay.responded(call.sent().digest(), payload);
        } catch (CrabException e) {
            throw stop(e);
        }
    }

    /** What comes after the end could run beside the same call made again, and twice. */
    private void refuseAfterEnd(String what) {
        if (over.get()) {
            CrabException cause = stopped;
            if (cause != null) {
                // Of tools side by side any may be the one whose error the caller gets: each tells why the call ended.
                throw cause;
            }
            throw CrabException.of(
                    ErrorCode.STATE_INVALID,
                    what + " of session " + entry.id() + " is not started",
                    "its AI service's call has ended or failed already",
                    "make the call again: it is taken up where it stands");
        }
    }

    /** An LLM call that went past the decorated model is in no journal. */
    private void refuseBypassed() {
        if (issued.get() != calls.get()) {
            throw CrabException.of(
                    ErrorCode.FRAMEWORK_UNSUPPORTED,
                    "the call of session " + entry.id() + " cannot be protected",
                    "an LLM call of it went past Crab: the AI service's model was exchanged in the middle of a call",
                    "build one AI service for each model, or do not call it from several threads at once");
        }
    }

    private static int outputTokens(ChatResponse response) {
        TokenUsage usage = response.tokenUsage();
        Integer output = usage == null ? null : usage.outputTokenCount();
        return output == null ? 0 : output;
    }

    /** The messages that LangChain4j has now, and with what is told before the call, by the ones first sent. */
    private void pinFirst(List<ChatMessage> asked, List<ChatMessage> now, ObjectNode payload) {
        if (payload.has(PROMPT)) {
            List<ChatMessage> sent = MessageCodec.messages(payload.path(PROMPT));
            pin.pin(now, sent, entry.hub().options().onDivergence);
            if (memory == null && !replay.notes(1).isEmpty()) {
                // LangChain4j does not know what is told, and goes on without it.
                pin.replace(asked, sent);
            }
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
            refuseBypassed();
            CrabOptions.ToolDeclaration declared =
                    ToolDeclarations.of(entry.hub().options(), request.name(), executor);
            ToolAnswer answer = replay.tool(request.id(), request.name(), request.arguments(), declared.effect());
            if (answer instanceof ToolAnswer.Recorded recorded) {
                return MessageCodec.result(recorded.result(), executor);
            }
            if (answer instanceof ToolAnswer.Unknown unknown) {
                Optional<String> text =
                        UnknownEffects.decide(entry, replay, request, unknown.toolKey(), declared.onUnknown());
                if (text.isPresent()) {
                    ToolExecutionResult told = Notices.with(
                            entry.takeNotice(),
                            ToolExecutionResult.builder()
                                    .isError(true)
                                    .resultText(text.get())
                                    .build());
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
        } catch (ToolFailures.OfTheTool e) {
            throw e.thrown();
        } catch (RuntimeException e) {
            // LangChain4j would tell the model, and the run would go on with nothing recorded.
            throw stop(CrabException.of(
                    ErrorCode.INTERNAL,
                    "the tool " + request.name() + " of session " + entry.id() + " cannot be run",
                    e.toString(),
                    "report this",
                    e));
        } catch (Error e) {
            // As above: only we see it.
            if (e instanceof CrabError ours) {
                stop(ours.refusal());
            } else {
                failed();
            }
            throw e;
        }
    }

    private ToolExecutionResult run(
            ToolExecutionRequest request, ToolEffect effect, String key, Supplier<ToolExecutionResult> live) {
        refuseAfterEnd("the tool " + request.name());
        turns.toolStarts(request.name(), effect);
        RunningTool tool = RunningTool.of(request.name(), this, key, effect);
        entry.toolStarts(tool);
        boolean ran = false;
        boolean recorded = false;
        boolean parks = false;
        try {
            // From here on the same call, made again, waits for this tool, and the session does not go back.
            refuseAfterEnd("the tool " + request.name());
            replay.refuseStale();
            FaultPoints.reach("tool.before");
            ran = true;
            if (effect == ToolEffect.EXTERNAL) {
                replay.begun(key, request.name());
            }
            ToolExecutionResult answer = tool.run(() -> ToolFailures.mark(live));
            ToolExecutionResult result = Notices.with(entry.takeNotice(), answer);
            FaultPoints.reach("tool.inside");
            replay.finished(key, request.name(), effect, tool.isSandboxUsed(), MessageCodec.result(request, result));
            recorded = true;
            FaultPoints.reach("tool.after");
            return result;
        } catch (CrabError e) {
            parks = isParked(e.refusal());
            throw e;
        } catch (ToolFailures.OfTheTool e) {
            toolFailed |= tool.isCalled();
            argumentsRefused |= !tool.isCalled();
            throw e;
        } finally {
            boolean elsewhere = (parks || effect == ToolEffect.EXTERNAL) && !tool.isSandboxUsed();
            entry.toolEnded(tool, !ran || recorded || elsewhere);
            if (!tool.isOutOfTurn()) {
                turns.toolEnded();
            }
        }
    }

    /** The service has its answer: the last turn is committed before the caller gets it. */
    void completed() {
        if (!over.compareAndSet(false, true)) {
            return;
        }
        try {
            refuseBypassed();
            turns.settle(position(), replay::end);
        } catch (CrabException e) {
            replay.release();
            turns.giveUp();
            throw new CrabError(e);
        } finally {
            onOver.run();
        }
    }

    /** Whether the invocation has ended or failed; tools of it may still run. */
    boolean isOver() {
        return over.get();
    }

    /** The call failed: the same call, made again, takes it up where it stands. */
    void failed() {
        end(() -> {});
    }

    /** As {@link #failed()}; where it stands is before a response with which nothing could be done. */
    void failed(Throwable error) {
        end(() -> {
            // An Error, Crab's own or the JVM's, says nothing about the response.
            if (!toolFailed && CrabError.causes(error).noneMatch(Error.class::isInstance)) {
                reject();
            }
        });
    }

    private void end(Runnable before) {
        if (!over.compareAndSet(false, true)) {
            return;
        }
        try {
            before.run();
        } finally {
            try {
                replay.release();
                turns.giveUp();
            } finally {
                onOver.run();
            }
        }
    }

    /**
     * The response asks for a tool that does not exist or with arguments that are none, is not of the form that was asked for, or a guardrail
     * lets it not through. While tools of it run, it is not known what it has led to.
     */
    private void reject() {
        if (entry.isRunning(this)) {
            return;
        }
        try {
            switch (replay.reject(argumentsRefused)) {
                case NONE -> {}
                case KEPT -> LOG.warn("Session {}: the response that led to an error will be served again", entry.id());
                case RESPONSE -> LOG.debug("Session {}: the model will be asked anew", entry.id());
                case RESPONSE_WITH_RESULTS -> entry.taint();
            }
        } catch (CrabException e) {
            // What the caller has to be told is how his call failed.
            LOG.warn("Session {}: the response that led to an error will be served again", entry.id(), e);
        }
    }

    private CrabError stop(CrabException refusal) {
        if (!over.get()) {
            stopped = refusal;
        }
        if (isParked(refusal)) {
            suspended();
        } else {
            failed();
        }
        return new CrabError(refusal);
    }

    /** The run stops to wait: what was done is committed, and the same call takes it up. */
    private void suspended() {
        if (!over.compareAndSet(false, true)) {
            return;
        }
        try {
            replay.release();
            if (!entry.park()) {
                turns.giveUp();
            }
        } finally {
            onOver.run();
        }
    }

    private static boolean isParked(CrabException refusal) {
        return refusal.code() == ErrorCode.SESSION_PARKED;
    }

    private static ObjectNode node() {
        return JsonNodeFactory.instance.objectNode();
    }
}
