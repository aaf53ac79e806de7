package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.Journal;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A session that is open: a store under its lock and, unless it is parked, a running sandbox and its watch. */
final class DurableSession implements SandboxSession {
    private static final Logger LOG = LoggerFactory.getLogger(DurableSession.class);

    private final SessionServices services;
    private final CheckpointStore store;
    private final Retention retention;
    private final ExecutorService housekeeping;
    private final Consumer<DurableSession> onClose;

    /** Held during every step of a turn, so that turns, their commits, parking and closing come one after the other. */
    private final ReentrantLock turns = new ReentrantLock();

    /** The sandbox that runs; of a parked session, the one that ran last. */
    private record Live(
            RunningSandbox sandbox, TurnInspector.Watch watch, Recovery recovery, TurnCommitter committer) {}

    // Written under turns.
    private volatile Live live;
    private volatile boolean parked;

    // Guarded by turns.
    private @Nullable OpenTurn openTurn;

    private @Nullable Future<?> forgetting;
    private boolean closed;

    DurableSession(
            SessionServices services,
            CheckpointStore store,
            SessionOpening.Begun begun,
            ExecutorService housekeeping,
            Consumer<DurableSession> onClose) {
        this.services = services;
        this.store = store;
        this.retention = begun.retention();
        this.housekeeping = housekeeping;
        this.onClose = onClose;
        this.live = live(begun);
    }

    private Live live(SessionOpening.Begun begun) {
        return new Live(
                begun.sandbox(),
                begun.watch(),
                begun.recovery(),
                new TurnCommitter(
                        services,
                        store,
                        begun.retention(),
                        begun.sandbox(),
                        begun.watch(),
                        begun.timeline(),
                        begun.manifest()));
    }

    @Override
    public String id() {
        return store.session();
    }

    @Override
    public Sandbox sandbox() {
        if (parked) {
            wake();
        }
        return live.sandbox();
    }

    @Override
    public Recovery recovery() {
        return live.recovery();
    }

    @Override
    public @Nullable Commit lastCommit() {
        return live.committer().lastCommit();
    }

    @Override
    public Journal journal() {
        return store.journal();
    }

    @Override
    public Turn beginTurn() {
        turns.lock();
        try {
            if (closed) {
                throw invalid("begin", "the session is closed");
            }
            if (openTurn != null) {
                throw invalid("begin", "turn " + openTurn.number() + " is neither committed nor abandoned");
            }
            wake();
            FaultPoints.reach("turn.begin");
            live.watch().begin();
            Commit last = lastCommit();
            openTurn = new OpenTurn(this, last == null ? 1 : last.turn() + 1);
            return openTurn;
        } finally {
            turns.unlock();
        }
    }

    TurnOutcome commit(OpenTurn turn, ObjectNode position, Admission admission) {
        long written = 0;
        turns.lock();
        try {
            if (openTurn != turn) {
                throw invalid("commit", closed ? "the session is closed" : "it has ended already");
            }
            TurnOutcome outcome = live.committer().commit(turn.number(), position, admission);
            written = outcome.bytesWritten();
            forgetOldGenerations(outcome.commit().generation());
            return outcome;
        } finally {
            admission.release(written);
            // By what is on the disk and not by whether an exception came: a recorded turn must never be recorded
            // again.
            Commit last = lastCommit();
            if (openTurn == turn && last != null && last.turn() >= turn.number()) {
                openTurn = null;
            }
            turns.unlock();
        }
    }

    void abandon(OpenTurn turn) {
        turns.lock();
        try {
            if (openTurn == turn) {
                openTurn = null;
            }
        } finally {
            turns.unlock();
        }
    }

    private void forgetOldGenerations(long committed) {
        try {
            forgetting = housekeeping.submit(() -> {
                try {
                    retention.dropOld(committed);
                } catch (RuntimeException e) {
                    LOG.warn("session {}: old generations could not be deleted and take room", id(), e);
                }
            });
        } catch (RejectedExecutionException e) {
            LOG.debug("session {}: old generations stay, the runtime is being closed", id());
        }
    }

    /** Behind the lock the session may be another process's, which may have gone back to a generation that counts as old here. */
    private void awaitForgetting() {
        Future<?> last = forgetting;
        boolean interrupted = false;
        while (last != null) {
            try {
                last.get();
                last = null;
            } catch (InterruptedException e) {
                interrupted = true;
            } catch (ExecutionException e) {
                LOG.warn("session {}: old generations could not be deleted and take room", id(), e);
                last = null;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private CrabException invalid(String verb, String why) {
        return CrabException.of(
                ErrorCode.STATE_INVALID,
                "a turn of session " + id() + " cannot " + verb,
                why,
                "end each turn by commit or abandon before the next begins");
    }

    @Override
    public void close() {
        turns.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            openTurn = null;
            FaultPoints.reach("close.begin");
            try (store) {
                awaitForgetting();
                if (!parked) {
                    end("close.stopped");
                }
            } finally {
                onClose.accept(this);
            }
        } finally {
            turns.unlock();
        }
    }

    @Override
    public void park() {
        turns.lock();
        try {
            if (closed || openTurn != null) {
                throw CrabException.of(
                        ErrorCode.STATE_INVALID,
                        "session " + id() + " cannot be parked",
                        closed ? "it is closed" : "a turn is neither committed nor abandoned",
                        "commit the turn, then park");
            }
            if (parked) {
                return;
            }
            FaultPoints.reach("park.begin");
            awaitForgetting();
            // Whatever fails from here on, the sandbox is of no more use; what is left of it goes when it is brought
            // back.
            parked = true;
            end("park.stopped");
            FaultPoints.reach("park.done");
        } finally {
            turns.unlock();
        }
    }

    @Override
    public boolean isParked() {
        return parked;
    }

    private void end(String stopped) {
        RunningSandbox sandbox = live.sandbox();
        sandbox.beforeRequests(() -> {});
        live.watch().close();
        services.engine().detach(sandbox.id());
        sandbox.close();
        FaultPoints.reach(stopped);
        services.snapshots().delete(sandbox.processes().volume());
    }

    private void wake() {
        turns.lock();
        try {
            if (!parked) {
                return;
            }
            if (closed) {
                throw CrabException.of(
                        ErrorCode.STATE_INVALID,
                        "the sandbox of session " + id() + " cannot be used",
                        "the session is closed",
                        "open it again");
            }
            FaultPoints.reach("wake.begin");
            live = live(SessionOpening.wake(services, store));
            parked = false;
            FaultPoints.reach("wake.ready");
        } finally {
            turns.unlock();
        }
    }
}
