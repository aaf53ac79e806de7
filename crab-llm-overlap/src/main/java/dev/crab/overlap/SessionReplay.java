package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.session.Commit;
import dev.crab.runtime.session.Rollback;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.store.Journal;
import dev.crab.runtime.store.JournalRecord;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a session's journal says about invocations of an agent, and what of it may be served again. Thread-safe.
 *
 * <p>The rule that decides: a tool result is true as long as the sandbox contains its effect. Every commit carries a watermark, the
 * sequence number of the journal's last record when no tool ran and the capture began. Opening a session puts the sandbox back to a
 * commit, so the results after that commit's watermark are void from then on, and an {@code open} record with the watermark says so to
 * all later readers. Results of tools whose effect is external only are never void.
 *
 * <p>A response is served if nothing that it answers was produced after it; where tools had to run again, it is served only if the
 * request is the same to the byte.
 *
 * <p>Longer than most classes here because everything that one lock guards stands in one place.
 */
public final class SessionReplay {
    /** Field of a commit's position: the sequence number up to which results are part of the commit. */
    static final String WATERMARK = "watermark";

    private final String session;
    private final Journal journal;
    private @Nullable String identity;
    private final Map<String, RecordedInvocation> invocations = new LinkedHashMap<>();

    /** The newest of each chat memory. */
    private final Map<String, RecordedInvocation> newest = new HashMap<>();

    /** Of the invocations outside any scope: the newest of each chat memory, and how many there were of each call. */
    private final Map<String, RecordedInvocation> newestRoots = new HashMap<>();

    private final Map<String, Integer> rootsOfCall = new HashMap<>();
    private final ToolRecords tools = new ToolRecords();
    private final Map<String, Long> endedRuns = new HashMap<>();
    private final TreeMap<Long, Long> watermarks = new TreeMap<>();
    /** What a chat memory has to be put back to before its next call, by its identity: details of the first call that is void. */
    private final Map<String, ObjectNode> putBack = new HashMap<>();

    private final Telling telling = new Telling();

    /** The newest wish of a model to go back: fulfilled if the rollback is the next record. */
    private @Nullable JournalRecord wish;

    private final ReportLog reports = new ReportLog();
    private final List<TurnReport> unwritten = new ArrayList<>();
    /** The turn in which the session was prepared; 0 if it is not. */
    private long preparedIn;

    private long last = -1;
    private long epoch;

    private SessionReplay(String session, Journal journal) {
        this.session = session;
        this.journal = journal;
    }

    /** Reads a session's journal and marks there what the restore undid. */
    static SessionReplay open(SandboxSession session) {
        SessionReplay replay = new SessionReplay(session.id(), session.journal());
        List<JournalRecord> recovered = session.journal().recovered();
        recovered.forEach(replay::apply);
        recovered.forEach(replay.reports::read);
        recovered.forEach(replay.reports::reportOf);
        if (!recovered.isEmpty()) {
            ObjectNode open = node().put("turn", 0).put(WATERMARK, -1);
            if (session.recovery() instanceof SandboxSession.Recovery.Restored restored) {
                open.put("turn", restored.commit().turn()).put(WATERMARK, watermark(restored.commit()));
            }
            replay.append(RecordKinds.OPEN, open);
        }
        return replay;
    }

    /** What a journal says that is only looked at. */
    static SessionReplay of(List<JournalRecord> records) {
        SessionReplay replay = new SessionReplay("", new Journal() {
            @Override
            public List<JournalRecord> recovered() {
                return records;
            }

            @Override
            public JournalRecord append(String kind, ObjectNode body) {
                throw new UnsupportedOperationException("nothing is written");
            }

            @Override
            public JournalRecord write(String kind, ObjectNode body) {
                return append(kind, body);
            }
        });
        records.forEach(replay::apply);
        return replay;
    }

    private static long watermark(Commit commit) {
        return commit.position().path(WATERMARK).asLong(-1);
    }

    static ObjectNode node() {
        return JsonNodeFactory.instance.objectNode();
    }

    /** Appends a record; durable on return. */
    synchronized JournalRecord append(String kind, ObjectNode body) {
        return applied(journal.append(kind, body));
    }

    /** Appends a record that is durable with the next one that {@link #append} appends, or with the commit of the turn. */
    synchronized JournalRecord write(String kind, ObjectNode body) {
        return applied(journal.write(kind, body));
    }

    private JournalRecord applied(JournalRecord record) {
        apply(record);
        return record;
    }

    private void apply(JournalRecord record) {
        last = Math.max(last, record.sequence());
        ObjectNode body = record.body();
        switch (record.kind()) {
            case RecordKinds.OPEN -> {
                undo(body.path(WATERMARK).asLong(-1));
                forgetPrepared(body.path("turn").asLong());
            }
            case RecordKinds.START -> {
                RecordedInvocation invocation = new RecordedInvocation(record);
                boolean isNew = invocations.put(invocation.key, invocation) == null;
                // It began with the memory that was put back.
                putBack.remove(invocation.memory);
                isNewest(invocation, isNew);
            }
            case RecordKinds.RESPONSE -> {
                RecordedInvocation invocation = invocations.get(body.path("key").asText());
                if (invocation != null) {
                    invocation.response(record);
                }
            }
            case RecordKinds.REJECTED -> {
                RecordedInvocation invocation = invocations.get(body.path("key").asText());
                if (invocation != null) {
                    invocation
                            .responses
                            .tailMap(body.path("index").asInt(), true)
                            .clear();
                }
            }
            case RecordKinds.BEGUN -> tools.begun(record);
            case RecordKinds.RESULT -> telling.result(tools.result(record));
            case RecordKinds.END -> {
                RecordedInvocation invocation = invocations.get(body.path("key").asText());
                if (invocation != null) {
                    invocation.ended = true;
                    invocation.endedAt = record.sequence();
                }
            }
            case RecordKinds.IDENTITY -> {
                // The parent's is in a branch's journal, too.
                if (body.path("session").asText().equals(session)) {
                    identity = body.path("identity").asText();
                }
            }
            case RecordKinds.NOTE -> wish = record;
            case RecordKinds.PREPARED -> preparedIn = watermarks.isEmpty() ? 1 : watermarks.lastKey();
            case RecordKinds.RUN_END -> endedRuns.put(body.path("run").asText(), record.sequence());
            case RecordKinds.COMMIT ->
                watermarks.put(
                        body.path("turn").asLong(),
                        body.path("position").path(WATERMARK).asLong(-1));
            case RecordKinds.ROLLBACK -> {
                long turn = body.path("turn").asLong();
                if (body.path("asked").asBoolean()) {
                    String note = body.path("note").asText();
                    rolledBack(turn, note, isWished(record, turn, note) ? wish : null);
                } else {
                    watermarks.tailMap(turn, false).clear();
                }
            }
            default -> {
                // what a newer version wrote does not concern this one
            }
        }
    }

    /** The sandbox is as that turn left it. */
    private void forgetPrepared(long turn) {
        if (turn < preparedIn) {
            preparedIn = 0;
        }
    }

    private void undo(long watermark) {
        tools.undo(watermark, result -> {
            telling.undo(result);
            // An answer that was given on the strength of what is undone now was not given.
            RecordedInvocation invocation = invocations.get(result.invocation());
            if (invocation != null) {
                invocation.ended = false;
            }
        });
    }

    /** A turn of this process was committed. */
    synchronized void committed(long turn, ObjectNode position) {
        watermarks.put(turn, position.path(WATERMARK).asLong(-1));
    }

    /**
     * Goes back to a turn. Nothing else is recorded meanwhile: what came between the record and what it means here would count in one
     * process and not in the next.
     *
     * @param note why
     * @param sandbox brings the sandbox back, and records it
     */
    synchronized RolledBack goBack(long turn, String note, Supplier<Rollback> sandbox) {
        return new RolledBack(sandbox.get(), rolledBack(turn, note, null));
    }

    /**
     * As {@link #goBack(long, String, Supplier)}, on the wish of the model in an invocation, which goes on behind it, if need be as one that
     * has just begun. What the model is told before its next LLM call is recorded first: it counts if the rollback does.
     */
    synchronized RolledBack goBack(
            RecordedInvocation of,
            long turn,
            String note,
            Function<List<OutsideEffect>, String> told,
            Supplier<Rollback> sandbox) {
        String text = told.apply(outsideAfter(turn));
        JournalRecord wished = append(
                RecordKinds.NOTE,
                node().put("key", of.key).put("turn", turn).put("note", note).put("text", text));
        return new RolledBack(sandbox.get(), rolledBack(turn, note, wished));
    }

    private boolean isWished(JournalRecord rollback, long turn, String note) {
        return wish != null
                && wish.sequence() + 1 == rollback.sequence()
                && wish.body().path("turn").asLong() == turn
                && wish.body().path("note").asText().equals(note);
    }

    /** What tools did outside the sandbox after a turn, oldest first. */
    synchronized List<OutsideEffect> outsideAfter(long turn) {
        return tools.outsideAfter(watermarks.getOrDefault(turn, -1L));
    }

    private List<OutsideEffect> rolledBack(long turn, String note, @Nullable JournalRecord wished) {
        RecordedInvocation wisher = wished == null
                ? null
                : invocations.get(wished.body().path("key").asText());
        List<OutsideEffect> outside = goBack(turn);
        watermarks.tailMap(turn, false).clear();
        if (wished == null || wisher == null) {
            telling.of(note.isEmpty() ? null : new Untold(turn, note, outside));
            return outside;
        }
        telling.of(null);
        if (invocations.putIfAbsent(wisher.key, wisher) == null) {
            putBack.remove(wisher.memory);
            isNewest(wisher, true);
        }
        wisher.wentBack(wished.body().path("text").asText());
        return outside;
    }

    /** The newest rollback that somebody wanted and gave a note to, if the model does not know yet; once in a process. */
    public synchronized Optional<Untold> takeUntold() {
        return telling.take();
    }

    /**
     * Other than after a crash, nothing counts that came of what is void: the model is asked anew. A call that had its answer before the
     * next turn's first tool ran keeps it.
     */
    private List<OutsideEffect> goBack(long turn) {
        epoch++;
        forgetPrepared(turn);
        long watermark = watermarks.getOrDefault(turn, -1L);
        long next = tools.nextAfter(watermark);
        List<OutsideEffect> outside = tools.outsideAfter(watermark);
        tools.forget(watermark);
        endedRuns.values().removeIf(sequence -> sequence > next);
        putBack.clear();
        newest.clear();
        newestRoots.clear();
        rootsOfCall.clear();
        List<RecordedInvocation> voided = new ArrayList<>();
        invocations.values().removeIf(invocation -> {
            invocation.active = false;
            boolean keepsAnswer = invocation.ended && invocation.endedAt < next;
            if (!keepsAnswer) {
                invocation.ended = false;
                invocation.responses.values().removeIf(response -> response.sequence() > watermark);
                invocation.notes.tailMap(invocation.responses.size() + 1, false).clear();
                if (invocation.sequence > watermark) {
                    voided.add(invocation);
                    return true;
                }
            }
            isNewest(invocation, true);
            return false;
        });
        for (RecordedInvocation invocation : voided) {
            RecordedInvocation before = newest.get(invocation.memory);
            // One without an answer is taken up or left behind by the next call, which puts the memory right; one that
            // began later and keeps its answer began with the memory as it is.
            if (before == null || (before.ended && before.sequence < invocation.sequence)) {
                putBack.putIfAbsent(invocation.memory, invocation.details);
            }
        }
        return outside;
    }

    /** Counts rollbacks: what was begun before one must not go on behind it. */
    synchronized long epoch() {
        return epoch;
    }

    /** The sequence number of the newest record. */
    synchronized long lastSequence() {
        return last;
    }

    synchronized boolean isPrepared() {
        return preparedIn > 0;
    }

    synchronized void report(TurnReport report) {
        reports.add(report);
        unwritten.add(report);
    }

    synchronized List<TurnReport> reports() {
        return reports.all();
    }

    /** Writes the reports that are not in the journal yet. */
    synchronized void writeReports() {
        if (!unwritten.isEmpty()) {
            ObjectNode body = node();
            ArrayNode array = body.putArray("reports");
            unwritten.forEach(report -> array.add(report.toJson()));
            unwritten.clear();
            write(RecordKinds.REPORT, body);
        }
    }

    /** The name of the session's unfinished run: {@code 1} for the first, counting up with every run that was completed. */
    public synchronized String currentRun() {
        int number = 1;
        while (endedRuns.containsKey(Integer.toString(number))) {
            number++;
        }
        return Integer.toString(number);
    }

    /** Records that a run is complete; durable on return. Idempotent. */
    public synchronized void completeRun(String run) {
        if (!endedRuns.containsKey(run)) {
            append(RecordKinds.RUN_END, node().put("run", run));
        }
    }

    /** Whether {@link #completeRun} was called for that run. */
    public synchronized boolean isRunComplete(String run) {
        return endedRuns.containsKey(run);
    }

    /**
     * Begins an invocation or takes up one that a crash or an error interrupted.
     *
     * <p>Outside any scope, an invocation is taken up if it is the newest of its chat memory, has no end, and the same call comes again;
     * any other call leaves it behind for good. Inside a scope it is taken up by its position there, ended or not; a call that is new there
     * leaves the newest of its chat memory behind likewise, if that has no end.
     *
     * @param call digest of what is called: method, memory and arguments
     * @param memory the chat memory's identity
     * @param scope what encloses the invocation; null if nothing does
     * @param details what the layer above wants back when the invocation is taken up
     */
    public InvocationReplay begin(String call, String memory, @Nullable ReplayScope scope, ObjectNode details) {
        return begin(call, memory, scope, leftBehind -> details);
    }

    /**
     * As {@link #begin(String, String, ReplayScope, ObjectNode)}.
     *
     * @param details makes them of what is left behind, if anything is; asked only where an invocation is new, and while nothing else of the
     *     session is recorded, so that it may put the chat memory in order first
     */
    public synchronized InvocationReplay begin(
            String call,
            String memory,
            @Nullable ReplayScope scope,
            Function<Optional<InvocationReplay.History>, ObjectNode> details) {
        RecordedInvocation found;
        String key;
        int place = 0;
        if (scope == null) {
            RecordedInvocation root = newestRoots.get(memory);
            found = root != null && !root.ended && !root.active && root.call.equals(call) ? root : null;
            key = found != null ? found.key : Digest.of(call, Integer.toString(rootsOfCall.getOrDefault(call, 0) + 1));
        } else {
            place = scope.take(call, epoch, one -> invocations.containsKey(key(scope, call, one)));
            key = key(scope, call, place);
            found = invocations.get(key);
        }
        RecordedInvocation before = found == null ? newest.get(memory) : null;
        RecordedInvocation leftBehind = before != null && !before.ended && !before.active ? before : null;
        int taken = place;
        Runnable giveBack = scope == null ? () -> {} : () -> scope.giveBack(call, taken);
        boolean resumed = found != null;
        if (found == null) {
            ObjectNode body = node().put("key", key).put("call", call).put("memory", memory);
            if (scope != null) {
                body.put("scope", scope.id());
            }
            boolean begun = false;
            try {
                body.set(
                        "details",
                        details.apply(Optional.ofNullable(leftBehind).map(old -> InvocationReplay.history(this, old))));
                append(RecordKinds.START, body);
                begun = true;
            } finally {
                if (!begun) {
                    giveBack.run();
                }
            }
            found = invocations.get(key);
        }
        RecordedInvocation invocation = Objects.requireNonNull(found);
        invocation.active = true;
        return new InvocationReplay(this, invocation, resumed, leftBehind, giveBack);
    }

    private static String key(ReplayScope scope, String call, int place) {
        return Digest.of(scope.id(), call, Integer.toString(place));
    }

    /** What a chat memory was when the first of its calls began that a rollback has made void, if none has begun since. */
    public synchronized Optional<ObjectNode> putBack(String memory) {
        return Optional.ofNullable(putBack.get(memory));
    }

    /** Where an invocation has to go back to, to undo its responses from that one on. */
    synchronized InvocationReplay.WayBack wayBack(RecordedInvocation of, int response) {
        return new WaysBack(invocations, tools, watermarks).of(of, response);
    }

    private void isNewest(RecordedInvocation invocation, boolean isNew) {
        newest.put(invocation.memory, invocation);
        if (invocation.scope == null) {
            newestRoots.put(invocation.memory, invocation);
            rootsOfCall.merge(invocation.call, isNew ? 1 : 0, Integer::sum);
        }
    }

    /** The servable result of that key; null if there is none. Also gives its sequence number to the reader. */
    synchronized @Nullable JournalRecord result(String toolKey) {
        ToolRecords.Result result = tools.result(toolKey);
        return result == null ? null : new JournalRecord(result.sequence(), RecordKinds.RESULT, result.body());
    }

    /** Bodies of the servable results of one response's tools, in the order in which they were recorded. */
    synchronized List<ObjectNode> resultsOf(String key, long response) {
        return tools.resultsOf(key, response);
    }

    /**
     * Of a tool's call, for systems outside: its key alone may be that of a call in another session, of a branch for instance, or of one
     * that was deleted and made again.
     */
    synchronized String idempotencyKey(String toolKey) {
        String own = identity;
        if (own == null) {
            own = UUID.randomUUID().toString();
            append(RecordKinds.IDENTITY, node().put("session", session).put("identity", own));
        }
        return Digest.of(own, toolKey);
    }

    /**
     * Whether something that tools of that response did cannot be undone: it is outside, or may be, or committed.
     *
     * @param endedOnly whether tools with an effect outside do not count that have no result
     */
    synchronized boolean isPast(String key, long response, boolean endedOnly) {
        long committed = watermarks.isEmpty() ? -1 : watermarks.lastEntry().getValue();
        return tools.actedOutside(key, response, endedOnly)
                || tools.results()
                        .anyMatch(result -> result.sequence() <= committed
                                && result.response() == response
                                && result.invocation().equals(key));
    }

    synchronized boolean wasBegun(String toolKey) {
        return tools.wasBegun(toolKey);
    }
}
