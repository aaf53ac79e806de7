package dev.crab.overlap.schedule;

import java.util.Comparator;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Those who wait for one kind of slot, in the order in which they get it, and how many have one. Not thread-safe. */
final class Stage {
    private final int bound;
    private final long ageing;
    private final long stall;
    private final Comparator<Job> order;
    /** Somebody waits for these. */
    private final TreeSet<Job> promoted;
    /** Somebody waits for these too, but their sandboxes have had more than their share: until their deadlines they are as the others. */
    private final TreeSet<Job> putOff;

    private final TreeSet<Job> others;
    private int running;
    private long movedAt;

    Stage(int bound, AdmissionPolicy policy) {
        this.bound = bound;
        this.ageing = policy.ageing();
        this.stall = policy.stall();
        this.order = Comparator.<Job>comparingLong(job -> Math.floorDiv(job.due, policy.quantum()))
                .thenComparing(job -> job.kind)
                .thenComparingLong(job -> job.sequence);
        this.promoted = new TreeSet<>(order);
        this.putOff = new TreeSet<>(order);
        this.others = new TreeSet<>(order);
    }

    void add(Job job, long now) {
        if (isEmpty()) {
            movedAt = now;
        }
        if (job.promoted) {
            (job.postponed == 0 ? promoted : putOff).add(job);
        } else {
            others.add(job);
        }
    }

    void remove(Job job) {
        if (!promoted.remove(job) && !putOff.remove(job)) {
            others.remove(job);
        }
    }

    void start(long now) {
        running++;
        movedAt = now;
    }

    void stop(long now) {
        running--;
        movedAt = now;
    }

    int waiting() {
        return promoted.size() + putOff.size() + others.size();
    }

    int running() {
        return running;
    }

    boolean isEmpty() {
        return waiting() == 0;
    }

    boolean hasRoom() {
        return running < bound;
    }

    /** Who is next; null if nobody waits. */
    @Nullable
    Job first(long now) {
        // Who has waited too long comes among those that somebody waits for, as of the moment at which it became too
        // long.
        while (!others.isEmpty() && others.first().due <= now - ageing) {
            Job aged = others.pollFirst();
            aged.promoted = true;
            aged.due += ageing;
            promoted.add(aged);
        }
        while (!putOff.isEmpty() && putOff.first().due <= now) {
            promoted.add(putOff.pollFirst());
        }
        return !promoted.isEmpty() ? promoted.first() : earlier(first(putOff), first(others));
    }

    private @Nullable Job earlier(@Nullable Job a, @Nullable Job b) {
        return a == null || (b != null && order.compare(b, a) < 0) ? b : a;
    }

    private static @Nullable Job first(SortedSet<Job> jobs) {
        return jobs.isEmpty() ? null : jobs.first();
    }

    /** When the first goes on beyond the bound, if nothing moves until then. */
    long stallsAt() {
        return movedAt + stall;
    }
}
