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
 * @param captureNanos from the boundary until the sandbox ran freely again (0 where nothing had to be captured)
 * @param freezeNanos the part of it in which the sandbox was held still
 * @param persistNanos from then until everything was durable and committed
 */
public record TurnOutcome(
        Commit commit,
        TurnEffects effects,
        Saved saved,
        long bytesWritten,
        long judgeNanos,
        long captureNanos,
        long freezeNanos,
        long persistNanos) {
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
