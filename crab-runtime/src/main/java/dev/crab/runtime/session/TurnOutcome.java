package dev.crab.runtime.session;

import dev.crab.runtime.inspector.TurnEffects;

/**
 * A committed turn and what it cost. Durations in nanoseconds.
 *
 * @param commit the commit record as it stands in the journal
 * @param effects the inspector's judgement
 * @param saved what was stored for it
 * @param bytesWritten bytes written to the store for this turn, journal included
 * @param judgeNanos how long the first judgement took, at the boundary; part of captureNanos where something was captured
 * @param captureWaitNanos how long the capture waited for its turn on the host; part of captureNanos
 * @param captureNanos from the boundary until the sandbox ran freely again (0 where nothing had to be captured)
 * @param freezeNanos the part of it in which the sandbox was held still
 * @param persistWaitNanos how long the captured state waited to be made durable; part of persistNanos
 * @param persistNanos from then until everything was durable and committed
 */
public record TurnOutcome(
        Commit commit,
        TurnEffects effects,
        Saved saved,
        long bytesWritten,
        long judgeNanos,
        long captureWaitNanos,
        long captureNanos,
        long freezeNanos,
        long persistWaitNanos,
        long persistNanos) {
    /** One that waited for nobody. */
    public TurnOutcome(
            Commit commit,
            TurnEffects effects,
            Saved saved,
            long bytesWritten,
            long judgeNanos,
            long captureNanos,
            long freezeNanos,
            long persistNanos) {
        this(commit, effects, saved, bytesWritten, judgeNanos, 0, captureNanos, freezeNanos, 0, persistNanos);
    }

    /** What a checkpoint consists of. */
    public enum Saved {
        /** Nothing: the commit points at the previous checkpoint. */
        NOTHING,
        /** A snapshot. */
        FILES,
        /** A dump and a snapshot of the same instant. */
        PROCESSES_AND_FILES
    }
}
