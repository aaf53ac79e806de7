package dev.crab.runtime.session;

import org.jspecify.annotations.Nullable;

/**
 * What a rollback came to. Durations in nanoseconds.
 *
 * @param turn the turn that the session is at now; 0: before the first
 * @param commit that turn's commit; null for turn 0
 * @param voidTurns how many committed turns are void now
 * @param processesRestored processes that came back from a dump; 0 if pid 1 was started afresh
 * @param standby whether a sandbox that was parked for that turn was taken
 * @param verifyNanos comparing files, processes and memory with what was saved; a parked one was compared when it was parked
 * @param nanos from the call until the sandbox could run a command
 */
public record Rollback(
        long turn,
        @Nullable Commit commit,
        long voidTurns,
        int processesRestored,
        boolean standby,
        long verifyNanos,
        long nanos) {}
