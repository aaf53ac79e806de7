package dev.crab.samples.replay;

import java.util.List;

/**
 * A trajectory that ran to its end without a crash. Durations in nanoseconds.
 *
 * @param run number of the repetition, from 1
 * @param place which of the agents beside each other in a JVM, from 0
 * @param wall from the first request to the last answer
 * @param waited how much of it the model took
 * @param turns what was done for each turn
 * @param jvmCpu processor time of the JVM and of what it started; of a JVM of several agents, each one's share
 * @param sandboxCpu processor time of the sandbox
 * @param jvmPeak most memory of the JVM, in bytes
 * @param sandboxPeak most memory of the sandbox, in bytes
 * @param machineShare of the machine's processors, from 0 to 1, that worked meanwhile, for whomever
 */
record Measured(
        String policy,
        String trajectory,
        String category,
        int run,
        int place,
        long wall,
        long waited,
        List<TurnRow> turns,
        long jvmCpu,
        long sandboxCpu,
        long jvmPeak,
        long sandboxPeak,
        double machineShare) {
    /** The same, as another repetition. */
    Measured numbered(int number) {
        return new Measured(
                policy,
                trajectory,
                category,
                number,
                place,
                wall,
                waited,
                turns,
                jvmCpu,
                sandboxCpu,
                jvmPeak,
                sandboxPeak,
                machineShare);
    }
}
