package dev.crab.samples.replay;

import java.util.List;

/**
 * A crash and what the agent came back to.
 *
 * @param plan as on the command line
 * @param kind where the kill really hit
 * @param turn that had ended before
 * @param target the turn that it should come back to
 * @param recovered the turn that it came back to, as its next request to the model tells
 * @param state differences of the sandbox from what it was at that turn
 * @param moved what in it only differs because of processes that go on by themselves
 * @param directories in it that differ in nothing but their own time of modification
 * @param chat differences of the results of tools in the chat
 * @param probe difference of the probe's answer; empty if none, or if there is no probe
 * @param probed whether there is a probe
 * @param restoreMillis from the new JVM's beginning to open until the sandbox was there
 * @param downMillis from the kill until the agent asked its model again
 * @param failure why it did not come back at all; empty if it did
 */
record Crash(
        String policy,
        String trajectory,
        String category,
        String plan,
        CrashKind kind,
        int turn,
        int target,
        int recovered,
        List<String> state,
        List<String> moved,
        List<String> directories,
        List<String> chat,
        String probe,
        boolean probed,
        long restoreMillis,
        long downMillis,
        String failure) {
    /** Whether everything was as it was, at the turn at which it should be. */
    boolean correct() {
        return failure.isEmpty() && recovered == target && state.isEmpty() && chat.isEmpty() && probe.isEmpty();
    }
}
