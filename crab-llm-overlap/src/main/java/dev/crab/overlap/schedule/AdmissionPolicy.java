package dev.crab.overlap.schedule;

import java.time.Duration;

/**
 * The bounds of an {@link AdmissionQueue}. Times in nanoseconds.
 *
 * @param captures how many sandboxes are captured at once, from 1
 * @param persists how many captured states are made durable at once, from 1
 * @param backlog how many captured states may wait to be made durable before no further capture begins, from 1
 * @param unwritten how many bytes of captured states may not be durable yet before no further capture begins; 0 for no bound
 * @param bytesPerSecond how much is written to the store in the long run; 0 for no bound
 * @param quantum deadlines within one quantum count as equal, since no prediction is sharper than that; from 1
 * @param ageing a job that has waited for so long after its deadline counts as one that somebody waits for
 * @param burst how much a sandbox may have used beyond its share before its deadlines are put off
 * @param postponement how far they are put off at most
 * @param stall after so long without any movement the first in the queue goes on beyond the bounds
 */
record AdmissionPolicy(
        int captures,
        int persists,
        int backlog,
        long unwritten,
        long bytesPerSecond,
        long quantum,
        long ageing,
        long burst,
        long postponement,
        long stall) {
    static final long QUANTUM = Duration.ofMillis(100).toNanos();
    static final long AGEING = Duration.ofSeconds(10).toNanos();
    static final long BURST = Duration.ofSeconds(2).toNanos();
    static final long POSTPONEMENT = Duration.ofSeconds(5).toNanos();
    static final long STALL = Duration.ofSeconds(30).toNanos();

    AdmissionPolicy {
        if (captures < 1 || persists < 1 || backlog < 1 || unwritten < 0 || bytesPerSecond < 0 || quantum < 1) {
            throw new IllegalArgumentException("bounds below the least: " + captures + ", " + persists + ", " + backlog
                    + ", " + unwritten + ", " + bytesPerSecond + ", " + quantum);
        }
    }

    /** These bounds, the rest as it is by default. */
    static AdmissionPolicy of(int captures, int persists, long unwritten, long bytesPerSecond) {
        return new AdmissionPolicy(
                captures, persists, persists, unwritten, bytesPerSecond, QUANTUM, AGEING, BURST, POSTPONEMENT, STALL);
    }
}
