package dev.crab.overlap;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.session.UncapturedPolicy;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is told of one session's turns: in the journal, in the log, to listeners. Thread-safe, but for what belongs to a {@link Pending}. */
final class TurnReporting {
    private static final Logger LOG = LoggerFactory.getLogger(TurnReporting.class);

    /** A turn whose report waits for its commit and for its window. Guarded by the coordinator's lock. */
    static final class Pending {
        final long turn;
        final List<String> tools;
        final boolean claimedReadOnly;
        final @Nullable LlmWindow window;
        final long boundary;
        long committedAt = -1;
        long windowClosedAt = -1;

        @Nullable
        TurnOutcome outcome;

        Pending(long turn, List<String> tools, boolean readOnly, @Nullable LlmWindow window, long boundary) {
            this.turn = turn;
            this.tools = List.copyOf(tools);
            this.claimedReadOnly = readOnly;
            this.window = window;
            this.boundary = boundary;
        }
    }

    private final String session;
    private final SessionReplay replay;
    private final UncapturedPolicy policy;
    private final List<TurnListener> listeners;

    TurnReporting(String session, SessionReplay replay, UncapturedPolicy policy, List<TurnListener> listeners) {
        this.session = session;
        this.replay = replay;
        this.policy = policy;
        this.listeners = List.copyOf(listeners);
    }

    /** The report if both its commit and its window are over; else null. With the coordinator's lock held: whoever waits for the commit finds it. */
    @Nullable
    TurnReport completed(Pending pending) {
        TurnOutcome outcome = pending.outcome;
        if (outcome == null || (pending.window != null && pending.windowClosedAt < 0)) {
            return null;
        }
        long windowEnd = pending.window == null ? pending.boundary : pending.windowClosedAt;
        long windowNanos = pending.window == null ? 0 : windowEnd - pending.window.openedNanos();
        TurnReport finished = new TurnReport(
                pending.turn,
                pending.tools,
                true,
                outcome.effects().effect(),
                outcome.effects().reasons(),
                outcome.saved(),
                outcome.bytesWritten(),
                windowNanos,
                outcome.captureWaitNanos(),
                outcome.captureNanos(),
                outcome.freezeNanos(),
                outcome.persistWaitNanos(),
                outcome.persistNanos(),
                Math.max(0, pending.committedAt - windowEnd),
                pending.claimedReadOnly && outcome.effects().effect() != Effect.NONE,
                null);
        replay.report(finished);
        return finished;
    }

    /** Tells a report that is in the journal. */
    void publish(TurnReport report) {
        if (report.claimBroken()) {
            LOG.warn(
                    "Turn {} of session {} changed the sandbox, though its tools {} are declared read-only",
                    report.turn(),
                    session,
                    report.tools());
        }
        tell(listener -> listener.turnReported(session, report));
    }

    /** Notes and tells that a turn could not be committed. */
    void uncommitted(Pending pending, CrabException failed) {
        if (policy == UncapturedPolicy.CONTINUE_UNPROTECTED) {
            LOG.warn("Turn {} of session {} goes on unprotected: {}", pending.turn, session, failed.getMessage());
        } else {
            LOG.error("Turn {} of session {} is not committed: {}", pending.turn, session, failed.getMessage());
        }
        TurnReport unsaved = TurnReport.uncommitted(
                pending.turn,
                pending.tools,
                Math.max(0, pending.committedAt - pending.boundary),
                String.valueOf(failed.getMessage()));
        replay.report(unsaved);
        publish(unsaved);
        tell(listener -> listener.turnUncommitted(session, pending.turn, failed));
    }

    void gateWaited(long nanos) {
        tell(listener -> listener.gateWaited(session, nanos));
    }

    private void tell(Consumer<TurnListener> call) {
        for (TurnListener listener : listeners) {
            try {
                call.accept(listener);
            } catch (RuntimeException e) {
                LOG.warn("A turn listener of session {} failed", session, e);
            }
        }
    }
}
