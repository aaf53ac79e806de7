package dev.crab.runtime.session;

import org.jspecify.annotations.Nullable;

/**
 * A committed turn that a session can be asked about.
 *
 * @param commit the turn's commit
 * @param saved what was stored for it
 * @param label the name that it was given; null if none
 * @param kept whether the session can still be brought back to it; the image as it came always is
 * @param atMillis when it was committed, in milliseconds since 1970 UTC
 */
public record TurnInfo(
        Commit commit, TurnOutcome.Saved saved, @Nullable String label, boolean kept, long atMillis) {
    /** Its number, from 1. */
    public long number() {
        return commit.turn();
    }
}
