package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.schedule.CaptureScheduler;
import dev.crab.overlap.schedule.LatencyEstimator;
import dev.crab.overlap.schedule.ScheduledTurn;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.Admission;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.session.UncapturedPolicy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leads one session through its turns: holds tools back until the turn before is committed, and starts the commit at the instant at
 * which the next LLM request leaves. Thread-safe; several invocations may share a session.
 *
 * <p>The order of one turn, as seen by the layer above: {@link InvocationReplay#responded}, then for each tool {@link #toolStarts},
 * the tool, {@link InvocationReplay#finished}, {@link #toolEnded}; then {@link #boundary} and the LLM request side by side, and
 * {@link LlmWindow#close} when the response is there. An invocation that has its answer calls {@link #settle}; one that failed calls
 * {@link #giveUp}.
 *
 * <p>The states and what leads from one to another are {@link TurnTransitions}. Where invocations share a session, a commit waits until
 * none of their tools runs, because the sandbox would else be saved in the middle of one; until then tools may start, so that an
 * invocation called from within a tool of another does not wait for itself.
 *
 * <p>Longer than most classes here because everything that one lock guards stands in one place.
 */
public final class TurnCoordinator implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TurnCoordinator.class);

    /**
     * What a commit leaves an LLM request at most, to be on its way: a thread that is woken takes the processor from the one that wakes it, and
     * that one has a request to send.
     */
    private static final long MOST_HEAD_START_NANOS = 3_000_000;

    /** What part of the time until the response is expected that may be: one in so many. */
    private static final int HEAD_START_SHARE = 20;

    private final SandboxSession session;
    private final SessionReplay replay;
    private final UncapturedPolicy policy;
    private final TurnReporting reporting;
    private final @Nullable CaptureScheduler scheduler;
    private final LatencyEstimator estimator;
    private final LongSupplier clock;
    private final Executor executor;
    private final @Nullable ExecutorService ownExecutor;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Condition hurried = lock.newCondition();
    private TurnState state = TurnState.QUIET;
    private boolean leaving;
    private int toolsInFlight;
    private boolean onlyReadOnly = true;
    private final List<String> tools = new ArrayList<>();
    private @Nullable Turn turn;
    private @Nullable ObjectNode duePosition;
    private @Nullable LlmWindow window;
    private TurnReporting.@Nullable Pending open;
    private @Nullable ScheduledTurn scheduled;
    private @Nullable CrabException failure;

    /** Somebody waits for the commit under way. */
    private boolean awaited;

    private final List<Runnable> afterCommit = new ArrayList<>();
    private final Set<LongWait> waits = new HashSet<>();
    private boolean parkWanted;

    /** A wait that was parked is over, and whoever waited may be in a tool yet. */
    private boolean parkedWaitOver;

    private TurnCoordinator(Builder builder) {
        this.session = builder.session;
        this.policy = builder.policy;
        this.scheduler = builder.scheduler;
        this.estimator = scheduler == null ? new LatencyEstimator() : scheduler.estimator();
        this.clock = builder.clock;
        Executor given = builder.executor;
        if (given == null) {
            ExecutorService own = Executors.newSingleThreadExecutor(work -> {
                Thread thread = new Thread(work, "crab-commit-" + session.id());
                thread.setDaemon(true);
                return thread;
            });
            this.executor = own;
            this.ownExecutor = own;
        } else {
            this.executor = given;
            this.ownExecutor = null;
        }
        this.replay = SessionReplay.open(session);
        this.reporting = new TurnReporting(session.id(), replay, policy, builder.listeners);
    }

    /**
     * A builder. Defaults: policy {@link UncapturedPolicy#FAIL}, no listener, no scheduler, {@link System#nanoTime}, one daemon thread of its own.
     *
     * @param session the session to lead; stays the caller's to close
     */
    public static Builder builder(SandboxSession session) {
        return new Builder(session);
    }

    /** What the journal knows, and the way to begin invocations. */
    public SessionReplay replay() {
        return replay;
    }

    /** The state at this moment; for diagnosis. */
    public TurnState state() {
        lock.lock();
        try {
            return state;
        } finally {
            lock.unlock();
        }
    }

    /** Reports of all turns of the session, those before a crash included, oldest first. */
    public List<TurnReport> reports() {
        return replay.reports();
    }

    /**
     * The gate. Waits until the commit under way is done, then lets one tool pass, opening a turn if none is open. Every call that returns
     * must be followed by {@link #toolEnded}.
     *
     * @return nanoseconds that the tool had to wait
     * @throws CrabException what made the last commit fail, under {@link UncapturedPolicy#FAIL}; STATE_INVALID after {@link #leave};
     *     INTERRUPTED
     */
    public long toolStarts(String name, ToolEffect effect) {
        long asked = clock.getAsLong();
        lock.lock();
        try {
            awaitCommit();
            refuseAfterFailure();
            if (leaving && toolsInFlight == 0) {
                // What the response's tools have done so far is recorded: it can be committed by itself.
                stopHere(SessionReplay.node().put("leaving", true), null);
            }
            TurnState next = TurnTransitions.next(state, TurnEvent.TOOL_STARTS);
            if (turn == null) {
                turn = session.beginTurn();
            }
            parkWanted &= state == TurnState.DUE;
            state = next;
            toolsInFlight++;
            tools.add(name);
            onlyReadOnly &= effect == ToolEffect.READ_ONLY;
        } finally {
            lock.unlock();
        }
        long waited = clock.getAsLong() - asked;
        reporting.gateWaited(waited);
        return waited;
    }

    /** A tool that passed the gate is over and its result, if it has one, is in the journal. */
    public void toolEnded() {
        lock.lock();
        try {
            oneToolLess();
            if (toolsInFlight == 0) {
                // Not after every tool beside a wait: those of another call go on at once, and each would bring the
                // sandbox back.
                if (parkedWaitOver || leaving) {
                    parkForTheRest();
                }
                parkedWaitOver = false;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Nothing runs but what waits parked, so nobody may come to a boundary for hours: the open turn is committed for them. */
    private void parkForTheRest() {
        if (!waits.isEmpty() && waits.stream().allMatch(wait -> wait.parked && wait.parkable.getAsBoolean())) {
            wantPark(waits.iterator().next().position.deepCopy());
        }
    }

    private void oneToolLess() {
        toolsInFlight--;
        state = TurnTransitions.next(state, toolsInFlight == 0 ? TurnEvent.LAST_TOOL_ENDS : TurnEvent.TOOL_ENDS);
        if (state == TurnState.COMMITTING) {
            startCommit(Objects.requireNonNull(duePosition));
        }
    }

    /**
     * The calling thread is about to wait for something outside, a person for instance, for minutes or for hours.
     *
     * @param tool the tool that waits, which has passed the gate; null if none does
     * @param effect of that tool
     * @param position where the layer above stands
     * @param parkable whether the sandbox may be saved as it is: not if that tool has used it, or it would be saved in its middle
     */
    public LongWait longWait(@Nullable String tool, ToolEffect effect, ObjectNode position, BooleanSupplier parkable) {
        LongWait wait = new LongWait(this, tool, effect, position, parkable);
        lock.lock();
        try {
            waits.add(wait);
        } finally {
            lock.unlock();
        }
        return wait;
    }

    /**
     * Commits the open turn and parks the session ({@link SandboxSession#park}), at once or when the last tool that runs has ended. Waits for a
     * commit that it can start.
     *
     * @return whether the session is parked; not if tools run in it, or the commit failed
     * @throws CrabException INTERRUPTED
     */
    public boolean park(ObjectNode position) {
        lock.lock();
        try {
            wantPark(position);
            awaitCommit();
            return session.isParked();
        } finally {
            lock.unlock();
        }
    }

    private void wantPark(ObjectNode position) {
        if (state == TurnState.CLOSED) {
            return;
        }
        parkWanted = true;
        if (state == TurnState.QUIET && !session.isParked()) {
            // What was done outside of any turn, or in one that was given up, would be lost, and its results not.
            turn = session.beginTurn();
            state = TurnTransitions.next(state, TurnEvent.TOOL_STARTS);
            state = TurnTransitions.next(state, TurnEvent.LAST_TOOL_ENDS);
            tools.add("park");
            onlyReadOnly = false;
        }
        if (state == TurnState.OPEN || state == TurnState.RUNNING || state == TurnState.UNCOMMITTED) {
            reach(position, null);
        }
    }

    private void parkIfWanted() {
        if (!parkWanted || session.isParked()) {
            return;
        }
        try {
            session.park();
            LOG.info("Session {} is parked until it is used again", session.id());
        } catch (CrabException e) {
            LOG.warn("The sandbox of session {} was not ended in good order to be parked", session.id(), e);
        }
    }

    void park(LongWait wait) {
        lock.lock();
        try {
            if (waits.contains(wait)) {
                leaveTurn(wait);
            }
        } finally {
            lock.unlock();
        }
    }

    /** What a tool that waits has done so far is nothing in the sandbox: the turn may be committed as if it had not begun. */
    private void leaveTurn(LongWait wait) {
        if (wait.parked || state == TurnState.CLOSED || !wait.parkable.getAsBoolean()) {
            return;
        }
        wait.parked = true;
        if (wait.tool != null) {
            oneToolLess();
        }
        wantPark(wait.position);
    }

    void end(LongWait wait) {
        boolean wasParked;
        lock.lock();
        try {
            waits.remove(wait);
            wasParked = wait.parked;
            parkedWaitOver |= wasParked;
            parkWanted &= waits.stream().anyMatch(other -> other.parked);
        } finally {
            lock.unlock();
        }
        if (wasParked && wait.tool != null) {
            toolStarts(wait.tool, wait.effect);
        }
    }

    /**
     * A turn boundary: starts the commit of the open turn, if there is one, and returns at once so that the LLM request can leave at the
     * same instant.
     *
     * @param position where the layer above stands; the watermark is added to it
     * @param call what is known of that request
     * @throws CrabException STATE_INVALID after {@link #leave}; INTERRUPTED
     * @return the window of that request, to be closed when its response is there
     */
    public LlmWindow boundary(ObjectNode position, LlmCall call) {
        LlmWindow opened = newWindow(call);
        lock.lock();
        try {
            if (leaving && toolsInFlight == 0) {
                stopHere(position, opened);
            }
            reach(position, opened);
        } finally {
            lock.unlock();
        }
        return opened;
    }

    /**
     * Runs work while the model thinks, behind the commit if one was started. May not run it at all: who needs what it does must be able to do it
     * himself.
     */
    public void beside(Runnable work) {
        try {
            executor.execute(work);
        } catch (RejectedExecutionException e) {
            LOG.debug("Session {} is closed: nothing is done ahead", session.id());
        }
    }

    /** As {@link #boundary(ObjectNode, LlmCall)}, of a request of which nothing is known. */
    public LlmWindow boundary(ObjectNode position) {
        return boundary(position, LlmCall.UNKNOWN);
    }

    private LlmWindow newWindow(LlmCall call) {
        LlmWindow[] self = new LlmWindow[1];
        self[0] = new LlmWindow(call, estimator, clock, at -> windowClosed(self[0], at));
        return self[0];
    }

    private void reach(ObjectNode position, @Nullable LlmWindow opened) {
        TurnState before = state;
        state = TurnTransitions.next(state, TurnEvent.BOUNDARY);
        if (state == TurnState.DUE) {
            duePosition = position;
            window = opened;
        } else if (state == TurnState.COMMITTING && before != TurnState.COMMITTING) {
            window = opened;
            startCommit(position);
        }
    }

    /**
     * The end of an invocation: commits the open turn if there is one, waits for the commit, and then runs {@code whenCommitted}. Where
     * tools of another invocation run in the same sandbox there is nothing to wait for yet: then {@code whenCommitted} runs on the
     * committing thread once they have ended, since one of them may be what called this invocation.
     *
     * @throws CrabException what made the commit fail, under {@link UncapturedPolicy#FAIL}; INTERRUPTED
     */
    public void settle(ObjectNode position, Runnable whenCommitted) {
        lock.lock();
        try {
            awaitCommit();
            if (state == TurnState.OPEN || state == TurnState.RUNNING || state == TurnState.DUE) {
                reach(position, null);
                if (state == TurnState.DUE) {
                    afterCommit.add(whenCommitted);
                    return;
                }
                awaitCommit();
            }
            refuseAfterFailure();
        } finally {
            lock.unlock();
        }
        whenCommitted.run();
    }

    /**
     * The program is about to end: waits until the open turn, if there is one, is committed or given up. Where no tool runs, no further
     * one and no further LLM call begins: the thread that asks for it commits what is there, is held until {@link #close()}, and then
     * refused.
     *
     * @param patienceNanos how long to wait at most
     * @return whether nothing is left open
     */
    public boolean leave(long patienceNanos) {
        lock.lock();
        try {
            leaving = true;
            waits.forEach(this::leaveTurn);
            if (state == TurnState.OPEN) {
                parkForTheRest();
            }
            long left = patienceNanos;
            while (state != TurnState.QUIET && state != TurnState.UNCOMMITTED && state != TurnState.CLOSED) {
                if (left <= 0) {
                    return false;
                }
                promote();
                left = changed.awaitNanos(left);
            }
            return state != TurnState.UNCOMMITTED;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    private void stopHere(ObjectNode position, @Nullable LlmWindow opened) {
        if (state == TurnState.OPEN) {
            reach(position, opened);
            awaitCommit();
        }
        try {
            while (state != TurnState.CLOSED) {
                changed.await();
            }
        } catch (InterruptedException e) {
            throw CrabException.interrupted("waiting for the program to end", e);
        }
        throw CrabException.of(
                ErrorCode.STATE_INVALID,
                "session " + session.id() + " goes no further",
                "the program was told to end",
                "start it again: it goes on from here");
    }

    /** An invocation failed. What it did stays in the sandbox and becomes part of the next turn. */
    public void giveUp() {
        lock.lock();
        try {
            state = TurnTransitions.next(state, TurnEvent.GIVEN_UP);
            if (state == TurnState.QUIET && turn != null) {
                turn.abandon();
                endTurn();
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Goes back to a turn, chat and sandbox alike: what was committed after it is void, and so are the responses that came of it. A call
     * that is under way meanwhile is refused to go on; made again, it is taken up from that turn. Waits for a commit under way.
     *
     * @throws CrabException STATE_INVALID while a tool runs; what {@link SandboxSession#rollbackTo} throws, and then all is as before
     */
    public RolledBack rollbackTo(long to, String note) {
        return goBack(() -> replay.goBack(to, note, () -> session.rollbackTo(to, note)));
    }

    /**
     * As {@link #rollbackTo}, on the wish of the model within a call, which goes on from that turn; whatever crash comes, it does so with what
     * it is told.
     *
     * @param told makes of what tools did outside the sandbox since what the model is told before the next LLM call
     */
    public RolledBack rollbackTo(
            long to, String note, InvocationReplay within, Function<List<OutsideEffect>, String> told) {
        return goBack(() -> within.goBack(to, note, told, () -> session.rollbackTo(to, note)));
    }

    private RolledBack goBack(Supplier<RolledBack> work) {
        lock.lock();
        try {
            awaitCommit();
            if (toolsInFlight > 0 || state == TurnState.CLOSED) {
                throw CrabException.of(
                        ErrorCode.STATE_INVALID,
                        "session " + session.id() + " cannot go back",
                        state == TurnState.CLOSED ? "it is closed" : "tools run in its sandbox: " + tools,
                        "go back when they have ended");
            }
            RolledBack back = work.get();
            state = TurnTransitions.next(state, TurnEvent.GIVEN_UP);
            failure = null;
            open = null;
            endTurn();
            changed.signalAll();
            return back;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Runs work on the sandbox once in the session's life, as a turn of its own: what an agent finds prepared. Does nothing if the journal
     * says that it is done.
     */
    public void prepare(Consumer<Sandbox> work) {
        if (replay.isPrepared()) {
            return;
        }
        toolStarts("prepare", ToolEffect.SANDBOX);
        boolean done = false;
        try {
            work.accept(session.sandbox());
            done = true;
        } finally {
            toolEnded();
            if (!done) {
                giveUp();
            }
        }
        settle(
                SessionReplay.node().put("prepare", true),
                () -> replay.append(RecordKinds.PREPARED, SessionReplay.node()));
    }

    private void awaitCommit() {
        try {
            while (state == TurnState.COMMITTING) {
                promote();
                changed.await();
            }
        } catch (InterruptedException e) {
            throw CrabException.interrupted("waiting for the commit of the turn before", e);
        }
    }

    private void refuseAfterFailure() {
        if (state == TurnState.UNCOMMITTED && policy == UncapturedPolicy.FAIL) {
            throw Objects.requireNonNull(failure);
        }
    }

    private void startCommit(ObjectNode position) {
        Turn current = Objects.requireNonNull(turn);
        // No tool runs: every result that the sandbox contains is in the journal, and nothing after it is in the
        // sandbox.
        position.put(SessionReplay.WATERMARK, replay.lastSequence());
        tools.forEach(position.putArray("tools")::add);
        LlmWindow next = window;
        long now = clock.getAsLong();
        TurnReporting.Pending report = new TurnReporting.Pending(current.number(), tools, onlyReadOnly, next, now);
        // Without an LLM call somebody waits for this commit, and for nothing else.
        ScheduledTurn turnOnHost = scheduler == null
                ? null
                : scheduler.turn(session.id(), next == null ? 0 : next.expectedNanos() - now, next == null);
        scheduled = turnOnHost;
        open = report;
        duePosition = null;
        failure = null;
        awaited = next == null;
        long headStart =
                next == null ? 0 : Math.min(MOST_HEAD_START_NANOS, (next.expectedNanos() - now) / HEAD_START_SHARE);
        executor.execute(() -> {
            letRequestLeave(headStart);
            commit(current, position, report, turnOnHost == null ? Admission.FREE : turnOnHost);
        });
    }

    private void letRequestLeave(long nanos) {
        lock.lock();
        try {
            long left = nanos;
            while (!awaited && left > 0) {
                left = hurried.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    private void commit(Turn current, ObjectNode position, TurnReporting.Pending report, Admission admission) {
        TurnOutcome outcome = null;
        CrabException failed = null;
        try {
            outcome = current.commit(position, admission);
        } catch (CrabException e) {
            failed = e;
        } catch (RuntimeException | Error e) {
            failed = CrabException.of(
                    ErrorCode.INTERNAL, "turn " + report.turn + " cannot be committed", e.toString(), "report this", e);
        }
        TurnReport finished = null;
        List<Runnable> then = List.of();
        lock.lock();
        try {
            report.committedAt = clock.getAsLong();
            report.outcome = outcome;
            state = TurnTransitions.next(state, failed == null ? TurnEvent.COMMITTED : TurnEvent.COMMIT_FAILED);
            failure = failed;
            scheduled = null;
            if (failed == null) {
                replay.committed(report.turn, position);
                endTurn();
                finished = completed(report);
                then = List.copyOf(afterCommit);
                afterCommit.clear();
                parkIfWanted();
            } else {
                open = null;
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (failed != null) {
            reporting.uncommitted(report, failed);
        } else if (finished != null) {
            reporting.publish(finished);
        }
        writeReports();
        for (Runnable one : then) {
            try {
                one.run();
            } catch (RuntimeException e) {
                // The turn is committed; what was to be noted then is not, so its invocation counts as unfinished.
                LOG.error("An invocation of session {} ended, and that could not be recorded", session.id(), e);
            }
        }
    }

    private void endTurn() {
        turn = null;
        tools.clear();
        onlyReadOnly = true;
        window = null;
    }

    private void windowClosed(LlmWindow closed, long at) {
        TurnReport finished = null;
        lock.lock();
        try {
            TurnReporting.Pending report = open;
            if (report != null && report.window == closed) {
                report.windowClosedAt = at;
                promote();
                finished = completed(report);
            }
            if (window == closed) {
                window = null;
            }
        } finally {
            lock.unlock();
        }
        if (finished != null) {
            reporting.publish(finished);
            beside(this::writeReports);
        }
    }

    /** They tell what was, and nothing depends on them. */
    private void writeReports() {
        try {
            replay.writeReports();
        } catch (CrabException e) {
            LOG.warn("What became of turns of session {} cannot be noted", session.id(), e);
        }
    }

    /** Somebody waits for the commit under way. */
    private void promote() {
        awaited = true;
        hurried.signalAll();
        if (scheduled != null) {
            scheduled.promote();
        }
    }

    private @Nullable TurnReport completed(TurnReporting.Pending report) {
        TurnReport finished = reporting.completed(report);
        if (finished != null) {
            open = null;
        }
        return finished;
    }

    /** Waits for a commit under way and releases what belongs to this coordinator; the session stays open. Idempotent. */
    @Override
    public void close() {
        lock.lock();
        try {
            while (state == TurnState.COMMITTING) {
                changed.awaitUninterruptibly();
            }
            boolean wasOpen = state != TurnState.CLOSED;
            state = TurnTransitions.next(state, TurnEvent.CLOSE);
            changed.signalAll();
            if (wasOpen) {
                endWindow();
                writeReports();
            }
        } finally {
            lock.unlock();
            if (ownExecutor != null) {
                ownExecutor.shutdown();
            }
        }
    }

    /** The LLM call in flight is not awaited: the turn behind it is told of as far as it goes. */
    private void endWindow() {
        TurnReporting.Pending report = open;
        if (report != null && report.windowClosedAt < 0) {
            report.windowClosedAt = clock.getAsLong();
            completed(report);
        }
    }

    /** Collects settings for a coordinator. Not thread-safe. */
    public static final class Builder {
        private final SandboxSession session;
        private UncapturedPolicy policy = UncapturedPolicy.FAIL;
        private final List<TurnListener> listeners = new ArrayList<>();
        private LongSupplier clock = System::nanoTime;
        private @Nullable CaptureScheduler scheduler;
        private @Nullable Executor executor;

        private Builder(SandboxSession session) {
            this.session = session;
        }

        /** What to do when a turn cannot be committed. Default: {@link UncapturedPolicy#FAIL}. */
        public Builder onUncaptured(UncapturedPolicy value) {
            policy = value;
            return this;
        }

        /** Adds a listener. Default: none. */
        public Builder listener(TurnListener listener) {
            listeners.add(listener);
            return this;
        }

        /** By whom commits are scheduled among those of other sandboxes; stays the caller's to close. Default: nobody, none waits. */
        public Builder scheduler(@Nullable CaptureScheduler value) {
            scheduler = value;
            return this;
        }

        /** Monotonic time in nanoseconds. Default: {@link System#nanoTime}. */
        public Builder clock(LongSupplier nanos) {
            clock = nanos;
            return this;
        }

        /** Where commits run; must not run them on the calling thread. Default: one daemon thread of the coordinator's own. */
        public Builder executor(Executor value) {
            executor = value;
            return this;
        }

        /** Takes the session over, which is noted in its journal. */
        public TurnCoordinator build() {
            return new TurnCoordinator(this);
        }
    }
}
