package dev.crab.overlap;

import dev.crab.runtime.error.CrabException;

/**
 * Told what happens to turns. Methods do nothing unless overridden; they are called on Crab's threads, must return soon, and what they
 * throw is logged and has no effect on the session.
 */
public interface TurnListener {
    /** A turn is over: committed, or not if its report says so. */
    default void turnReported(String sessionId, TurnReport report) {}

    /** A turn could not be committed. Under {@code FAIL} the run ends; else it goes on and the recovery point stays where it was. */
    default void turnUncommitted(String sessionId, long turn, CrabException failure) {}

    /** A tool had to wait for the commit of the turn before. */
    default void gateWaited(String sessionId, long nanos) {}
}
