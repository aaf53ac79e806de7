package dev.crab.overlap.schedule;

import java.util.HashMap;
import java.util.Map;

/**
 * How much each sandbox has used of the host beside what was its share, and by how much its next deadline is put off for it.
 *
 * <p>The constant bandwidth server of real-time scheduling (Abeni and Buttazzo, RTSS 1998) keeps earliest deadline first and yet isolates
 * its clients from one that asks too often: who has used up his budget is not refused, his deadline is postponed. What is used up is
 * measured by virtual time as in weighted fair queueing (Demers, Keshav and Shenker, 1989): it runs at the rate at which each of those
 * who want something now would be served if all were served alike, and a sandbox that is ahead of it has used more than that.
 *
 * <p>Not thread-safe.
 */
final class FairShare {
    private static final int SWEEP = 1024;

    private final int slots;
    private final long burst;
    private final long most;
    private final Map<String, Double> used = new HashMap<>();
    private double virtual;
    private long at;
    private int sweepAt = SWEEP;

    FairShare(AdmissionPolicy policy, long now) {
        this.slots = policy.captures() + policy.persists();
        this.burst = policy.burst();
        this.most = policy.postponement();
        this.at = now;
    }

    /** Time passes while so many want something. */
    void advance(long now, int wanting) {
        if (now > at) {
            virtual += (now - at) * rate(wanting);
            at = now;
        }
    }

    /** A sandbox has had one of the slots for so long. */
    void charge(String sandbox, long nanos) {
        used.put(sandbox, Math.max(virtual, used.getOrDefault(sandbox, virtual)) + (double) nanos);
        if (used.size() > sweepAt) {
            used.values().removeIf(mark -> mark <= virtual);
            sweepAt = Math.max(SWEEP, 2 * used.size());
        }
    }

    /** By how much the sandbox's next deadline is put off, in nanoseconds. */
    long postponement(String sandbox, int wanting) {
        double ahead = used.getOrDefault(sandbox, virtual) - virtual - burst;
        return ahead <= 0 ? 0 : (long) Math.min((double) most, ahead / rate(wanting));
    }

    private double rate(int wanting) {
        return Math.min(1, (double) slots / Math.max(1, wanting));
    }
}
