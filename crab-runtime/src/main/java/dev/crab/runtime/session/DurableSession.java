package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.Journal;
import dev.crab.runtime.store.Manifest;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A session that is open: a store under its lock, a running sandbox and its watch. */
final class DurableSession implements SandboxSession {
    private static final Logger LOG = LoggerFactory.getLogger(DurableSession.class);

    private final SessionServices services;
    private final CheckpointStore store;
    private final Retention retention;
    private final RunningSandbox sandbox;
    private final TurnInspector.Watch watch;
    private final Recovery recovery;
    private final ExecutorService housekeeping;
    private final Consumer<DurableSession> onClose;
    private final TurnCommitter committer;

    /** Held during every step of a turn, so that turns, their commits and closing come one after the other. */
    private final ReentrantLock turns = new ReentrantLock();

    // Guarded by turns.
    private @Nullable OpenTurn openTurn;

    private @Nullable Future<?> forgetting;
    private boolean closed;

    DurableSession(
            SessionServices services,
            CheckpointStore store,
            Retention retention,
            RunningSandbox sandbox,
            TurnInspector.Watch watch,
            Recovery recovery,
            Timeline timeline,
            @Nullable Manifest manifest,
            ExecutorService housekeeping,
            Consumer<DurableSession> onClose) {
        this.services = services;
        this.store = store;
        this.retention = retention;
        this.sandbox = sandbox;
        this.watch = watch;
        this.recovery = recovery;
        this.housekeeping = housekeeping;
        this.onClose = onClose;
        this.committer = new TurnCommitter(services, store, retention, sandbox, watch, timeline, manifest);
    }

    @Override
    public String id() {
        return store.session();
    }

    @Override
    public Sandbox sandbox() {
        return sandbox;
    }

    @Override
    public Recovery recovery() {
        return recovery;
    }

    @Override
    public @Nullable Commit lastCommit() {
        return committer.lastCommit();
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
            FaultPoints.reach("turn.begin");
            watch.begin();
            Commit last = committer.lastCommit();
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
            TurnOutcome outcome = committer.commit(turn.number(), position, admission);
            written = outcome.bytesWritten();
            forgetOldGenerations(outcome.commit().generation());
            return outcome;
        } finally {
            admission.release(written);
            // By what is on the disk and not by whether an exception came: a recorded turn must never be recorded
            // again.
            Commit last = committer.lastCommit();
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
                sandbox.beforeRequests(() -> {});
                watch.close();
                services.engine().detach(sandbox.id());
                sandbox.close();
                FaultPoints.reach("close.stopped");
                services.snapshots().delete(sandbox.processes().volume());
            } finally {
                onClose.accept(this);
            }
        } finally {
            turns.unlock();
        }
    }
}
