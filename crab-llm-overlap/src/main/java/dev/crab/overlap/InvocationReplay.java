package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.Rollback;
import dev.crab.runtime.store.JournalRecord;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One invocation of an agent as it runs, beside what the journal already holds of it. Tools may call it side by side; LLM calls come one
 * after the other.
 */
public final class InvocationReplay {
    private final SessionReplay session;
    private RecordedInvocation recorded;
    private final boolean resumed;
    private final @Nullable RecordedInvocation leftBehind;
    private final Runnable giveBack;
    private final Map<String, Integer> occurrences = new HashMap<>();
    private long epoch;
    private long newestResult = -1;
    private long response = -1;
    private int index;

    InvocationReplay(
            SessionReplay session,
            RecordedInvocation recorded,
            boolean resumed,
            @Nullable RecordedInvocation leftBehind,
            Runnable giveBack) {
        this.session = session;
        this.recorded = recorded;
        this.resumed = resumed;
        this.leftBehind = leftBehind;
        this.giveBack = giveBack;
        this.epoch = session.epoch();
    }

    /**
     * Refuses to go on if the session has gone back since: what this invocation is in the middle of never was. True for as long as a tool
     * that has passed the gate runs, since that keeps the session from going back; so it is asked behind the gate.
     *
     * @throws CrabException STATE_INVALID
     */
    public void refuseStale() {
        if (session.epoch() != epoch) {
            throw CrabException.of(
                    ErrorCode.STATE_INVALID,
                    "the call of the AI service cannot go on",
                    "its session went back to an earlier turn while it ran",
                    "make the call again: it goes on from that turn");
        }
    }

    /** Identifies the invocation in the session; 64 hexadecimal digits. */
    public String key() {
        return recorded.key;
    }

    /** Whether the journal knew the invocation already. */
    public boolean isResumed() {
        return resumed;
    }

    /** What the layer above said when the invocation began. */
    public ObjectNode details() {
        return recorded.details;
    }

    /**
     * The unfinished invocation of the same chat memory that this one, being another call, leaves behind: as far as its turns are part of
     * the sandbox. Empty if there is none.
     */
    public Optional<History> leftBehind() {
        return Optional.ofNullable(leftBehind).map(old -> {
            synchronized (session) {
                return history(session, old);
            }
        });
    }

    /**
     * What of an invocation is true in the sandbox.
     *
     * @param details what the layer above said when it began
     * @param responses bodies of its responses from the first on
     * @param results per response, the bodies of the results of its tools in the order in which they were recorded
     */
    public record History(ObjectNode details, List<ObjectNode> responses, List<List<ObjectNode>> results) {}

    static History history(SessionReplay session, RecordedInvocation old) {
        List<ObjectNode> responses = new ArrayList<>();
        List<List<ObjectNode>> results = new ArrayList<>();
        for (JournalRecord one : old.responses.values()) {
            responses.add(payload(one));
            results.add(session.resultsOf(old.key, one.sequence()));
        }
        return new History(old.details, responses, results);
    }

    /**
     * Goes back on the model's wish, and goes on behind that: as far as its turns count, and with what it is told before the next LLM call, by
     * which it does not try the same again.
     */
    RolledBack goBack(long turn, String note, Function<List<OutsideEffect>, String> told, Supplier<Rollback> sandbox) {
        synchronized (session) {
            refuseStale();
            RolledBack back = session.goBack(recorded, turn, note, told, sandbox);
            recorded.active = true;
            epoch = session.epoch();
            index = recorded.responses.size();
            occurrences.clear();
            newestResult = -1;
            response = -1;
            return back;
        }
    }

    /**
     * Where an invocation can go back to.
     *
     * @param turn the newest one that nothing of what is to be undone is part of; 0: before the first
     * @param call the LLM call that comes next there; it may be an earlier one than was asked for, where a turn has more responses than one
     * @param isShared whether calls beside this one are under way, or would lose by it what they have
     */
    public record WayBack(long turn, int call, boolean isShared) {}

    /** Where it has to go back to, to undo its responses from that one on, counted from 1. */
    public WayBack wayBack(int response) {
        synchronized (session) {
            return session.wayBack(recorded, response);
        }
    }

    /** How often the model has gone back in this invocation. */
    public int timesBack() {
        synchronized (session) {
            return recorded.timesBack;
        }
    }

    /** What the model is told before that LLM call, oldest first, because it went back to there. */
    public List<String> notes(int call) {
        synchronized (session) {
            return List.copyOf(recorded.notes.getOrDefault(call, List.of()));
        }
    }

    /** What of this invocation is true in the sandbox by now. */
    public History soFar() {
        synchronized (session) {
            return history(session, recorded);
        }
    }

    /** Number of the LLM call that the invocation is at, from 1; 0 before the first. */
    public int index() {
        synchronized (session) {
            return index;
        }
    }

    /**
     * Goes to the next LLM call.
     *
     * @param request gives the digest of the request; asked only where it decides
     * @return the response that the journal holds for it; empty if the model has to be asked
     */
    public Optional<ObjectNode> nextResponse(Supplier<String> request) {
        synchronized (session) {
            refuseStale();
            index++;
            occurrences.clear();
            JournalRecord known = recorded.responses.get(index);
            if (known == null
                    || (newestResult > known.sequence()
                            && !request.get()
                                    .equals(known.body().path("request").asText()))) {
                return Optional.empty();
            }
            response = known.sequence();
            return Optional.of(payload(known));
        }
    }

    private static ObjectNode payload(JournalRecord response) {
        return response.body().path("response") instanceof ObjectNode payload
                ? payload
                : response.body().objectNode();
    }

    /** Records the response to the LLM call that {@link #nextResponse} went to; durable on return. */
    public void responded(String request, ObjectNode payload) {
        ObjectNode body = SessionReplay.node().put("request", request);
        body.set("response", payload);
        synchronized (session) {
            body.put("key", recorded.key).put("index", index);
            response = append(RecordKinds.RESPONSE, body).sequence();
        }
        FaultPoints.reach("response.recorded");
    }

    /**
     * What systems outside may know a tool call by: the same whenever it runs again, and no other call's in this or any other session.
     * Durable on return.
     */
    public String idempotencyKey(String toolKey) {
        return session.idempotencyKey(toolKey);
    }

    /**
     * Asks the journal about a tool call of the current response.
     *
     * @param callId the identifier the model gave the call; may be null and need not be unique
     * @param arguments the call's arguments as the model wrote them
     */
    public ToolAnswer tool(@Nullable String callId, String name, @Nullable String arguments, ToolEffect effect) {
        synchronized (session) {
            refuseStale();
            String call = Digest.of(String.valueOf(callId), name, String.valueOf(arguments));
            int occurrence = occurrences.merge(call, 1, Integer::sum);
            // The response's own record is part of the key: a response given anew shares no results with the one it
            // replaces.
            String key = Digest.of(recorded.key, Long.toString(response), call, Integer.toString(occurrence));
            JournalRecord known = session.result(key);
            if (known != null && known.body().path("result") instanceof ObjectNode result) {
                newestResult = Math.max(newestResult, known.sequence());
                return new ToolAnswer.Recorded(key, result);
            }
            return effect == ToolEffect.EXTERNAL && session.wasBegun(key)
                    ? new ToolAnswer.Unknown(key)
                    : new ToolAnswer.Run(key);
        }
    }

    /** What became of a response that led to nothing. */
    public enum Rejection {
        /** There is none. */
        NONE,
        /** It stays, and is served again: what was done on its strength cannot be undone. */
        KEPT,
        /** The model is asked anew. */
        RESPONSE,
        /** So it is, and what tools did in the sandbox on its strength has to be undone by the caller. */
        RESPONSE_WITH_RESULTS
    }

    /**
     * The caller could do nothing with the response that this invocation is at: served again, it would fail again, and for ever. Durable on
     * return. No tool of it may be running.
     *
     * @param notBegun whether a tool that was about to do something outside, and has no result, is known not to have done it
     */
    public Rejection reject(boolean notBegun) {
        synchronized (session) {
            JournalRecord known = recorded.responses.get(index);
            if (session.epoch() != epoch || known == null || known.sequence() != response) {
                return Rejection.NONE;
            }
            if (session.isPast(recorded.key, response, notBegun)) {
                return Rejection.KEPT;
            }
            boolean hasResults = !session.resultsOf(recorded.key, response).isEmpty();
            session.append(
                    RecordKinds.REJECTED,
                    SessionReplay.node().put("key", recorded.key).put("index", index));
            return hasResults ? Rejection.RESPONSE_WITH_RESULTS : Rejection.RESPONSE;
        }
    }

    /** The session does not go back in between. */
    private JournalRecord append(String kind, ObjectNode body) {
        synchronized (session) {
            refuseStale();
            return session.append(kind, body);
        }
    }

    /** Records that a tool with an external effect is about to run; durable on return. */
    public void begun(String toolKey, String name) {
        append(
                RecordKinds.BEGUN,
                SessionReplay.node()
                        .put("key", recorded.key)
                        .put("tool", toolKey)
                        .put("name", name));
    }

    /**
     * Records a tool's result; of an external effect, durable on return. Any other counts only if the turn that it is part of is committed, and is
     * durable with that.
     *
     * @param sandboxUsed whether a tool with an external effect changed the sandbox too
     */
    public void finished(String toolKey, String name, ToolEffect effect, boolean sandboxUsed, ObjectNode result) {
        ObjectNode body = SessionReplay.node()
                .put("key", recorded.key)
                .put("response", response)
                .put("tool", toolKey)
                .put("name", name)
                .put("external", effect == ToolEffect.EXTERNAL && !sandboxUsed);
        body.set("result", result);
        synchronized (session) {
            refuseStale();
            JournalRecord record = effect == ToolEffect.EXTERNAL
                    ? session.append(RecordKinds.RESULT, body)
                    : session.write(RecordKinds.RESULT, body);
            newestResult = Math.max(newestResult, record.sequence());
        }
    }

    /** Records that the invocation has its answer; durable on return. */
    public void end() {
        append(RecordKinds.END, SessionReplay.node().put("key", recorded.key));
        leave();
    }

    /** Leaves the invocation unfinished: the same call takes it up again. */
    public void release() {
        synchronized (session) {
            leave();
            giveBack.run();
        }
    }

    private void leave() {
        synchronized (session) {
            // Behind a rollback it may be another's already.
            recorded.active &= session.epoch() != epoch;
        }
    }
}
