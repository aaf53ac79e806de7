package dev.crab.overlap.schedule;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The order in which captures and the writes that follow them take place. No threads and no clock of its own: time is whatever monotonic
 * nanoseconds the caller passes, so that the same calls lead to the same grants, on a host as in a simulation. Not thread-safe.
 *
 * <p>Earliest deadline first, with these amendments, the first one weightiest:
 *
 * <ol>
 *   <li>a job whose response has arrived (or that has waited {@link AdmissionPolicy#ageing} beyond its deadline) comes before all
 *       others; its deadline is the moment at which that happened;
 *   <li>deadlines within one {@link AdmissionPolicy#quantum} are equal;
 *   <li>at equal deadline, files come before processes, then who asked first;
 *   <li>the deadlines of a sandbox that has used more than its share are put off ({@link FairShare}), and until then its job does not come
 *       before those that nobody waits for.
 * </ol>
 *
 * <p>So nobody starves: once a job counts as waited for, at time p, only jobs that have asked before p + quantum + postponement can come
 * before it, and there is one job per sandbox at most.
 *
 * <p>Nor does anything lock up: a job holds at most one slot, and never waits for one while it holds another. Captures wait for the
 * backlog of what is captured and not yet being written, and for its bytes, and those wait for writes alone.
 */
final class AdmissionQueue {
    private final AdmissionPolicy policy;
    private final Stage captures;
    private final Stage persists;
    private final FairShare shares;
    private final TokenBucket bytes;
    private final Map<String, Job> live = new HashMap<>();
    private long unwritten;
    private long sequence;

    AdmissionQueue(AdmissionPolicy policy, long now) {
        this.policy = policy;
        this.captures = new Stage(policy.captures(), policy);
        this.persists = new Stage(policy.persists(), policy);
        this.shares = new FairShare(policy, now);
        this.bytes = new TokenBucket(policy.bytesPerSecond(), now);
    }

    /**
     * A job comes in: new ones {@link JobState#WAITING}, those that got a slot from a queue that is gone in the state they are in. A
     * sandbox has one job; if there is another one of it, its owner is gone and it ends.
     *
     * @param due when the response is expected
     * @param promoted whether it is there already
     * @param bytes of what was captured; 0 if nothing is yet
     */
    Job enter(String sandbox, JobKind kind, JobState state, long due, boolean promoted, long bytes, long now) {
        Job before = live.get(sandbox);
        if (before != null) {
            end(before, 0, now);
        }
        shares.advance(now, live.size());
        long postponed = shares.postponement(sandbox, live.size());
        Job job = new Job(++sequence, sandbox, kind, state, due + postponed, promoted, postponed);
        job.since = now;
        live.put(sandbox, job);
        holds(job, bytes);
        if (state.isWaiting()) {
            stage(state).add(job, now);
        } else {
            stage(state).start(now);
        }
        return job;
    }

    /** The response has arrived: somebody waits for this job. */
    void promote(Job job, long now) {
        job.state = JobTransitions.next(job.state, JobEvent.PROMOTED);
        if (job.promoted || job.state == JobState.OVER) {
            return;
        }
        boolean waits = job.state.isWaiting();
        if (waits) {
            stage(job.state).remove(job);
        }
        job.promoted = true;
        job.due = now + job.postponed;
        if (waits) {
            stage(job.state).add(job, now);
        }
    }

    private void holds(Job job, long bytes) {
        unwritten += bytes - job.unwritten;
        job.unwritten = bytes;
    }

    /** The sandbox runs again, and so many bytes are to be written. */
    void captured(Job job, long bytes, long now) {
        JobState next = JobTransitions.next(job.state, JobEvent.CAPTURE_ENDED);
        leaveSlot(job, 0, now);
        job.state = next;
        job.since = now;
        holds(job, bytes);
        persists.add(job, now);
    }

    /** The job goes on, whether or not there is room. */
    void force(Job job, long now) {
        if (job.state.isWaiting()) {
            stage(job.state).remove(job);
            start(job, now);
        }
    }

    /** The job is over in any way. */
    void end(Job job, long written, long now) {
        JobState next = JobTransitions.next(job.state, JobEvent.ENDED);
        if (job.state == JobState.OVER) {
            return;
        }
        if (job.state.isWaiting()) {
            stage(job.state).remove(job);
        } else {
            leaveSlot(job, written, now);
        }
        bytes.take(written, now);
        holds(job, 0);
        job.state = next;
        shares.advance(now, live.size());
        live.remove(job.sandbox, job);
    }

    /** Who may go on now, in order; they have their slots. */
    List<Job> grants(long now) {
        List<Job> granted = new ArrayList<>();
        // Writes first: they make room for captures.
        for (Job next = persists.first(now); next != null && mayPersist(now); next = persists.first(now)) {
            persists.remove(next);
            start(next, now);
            granted.add(next);
        }
        for (Job next = captures.first(now); next != null && mayCapture(now); next = captures.first(now)) {
            captures.remove(next);
            start(next, now);
            granted.add(next);
        }
        return granted;
    }

    private boolean mayPersist(long now) {
        return bytes.isOpen(now) && (persists.hasRoom() || persists.stallsAt() <= now);
    }

    private boolean mayCapture(long now) {
        return hasBacklog() && capturesAt() <= now;
    }

    private boolean hasBacklog() {
        return persists.waiting() < policy.backlog();
    }

    /** When the next capture may begin, as far as slots and bytes are concerned, if nothing happens until then. */
    private long capturesAt() {
        long at = captures.hasRoom() ? Long.MIN_VALUE : captures.stallsAt();
        // Writes that hang must not hold captures for ever; while they move, there will be room.
        return policy.unwritten() == 0 || unwritten < policy.unwritten()
                ? at
                : Math.max(captures.stallsAt(), persists.stallsAt());
    }

    /** When {@link #grants} should be called again even if nothing else happens; {@link Long#MAX_VALUE} for never. */
    long nextWake(long now) {
        long wake = Long.MAX_VALUE;
        if (!captures.isEmpty() && hasBacklog()) {
            wake = capturesAt();
        }
        if (!persists.isEmpty()) {
            long open = bytes.opensAt(now);
            wake = Math.min(wake, persists.hasRoom() ? open : Math.max(open, persists.stallsAt()));
        }
        return wake;
    }

    /** How many have asked and are not over. */
    int size() {
        return live.size();
    }

    int capturing() {
        return captures.running();
    }

    int persisting() {
        return persists.running();
    }

    /** Captured states that wait to be written. */
    int backlog() {
        return persists.waiting();
    }

    /** Bytes of captured states that are not durable yet. */
    long unwritten() {
        return unwritten;
    }

    /** The job of a sandbox; null if it has none. */
    @Nullable
    Job job(String sandbox) {
        return live.get(sandbox);
    }

    private void start(Job job, long now) {
        Stage stage = stage(job.state);
        job.state = JobTransitions.next(job.state, JobEvent.GRANTED);
        job.since = now;
        stage.start(now);
    }

    private void leaveSlot(Job job, long written, long now) {
        stage(job.state).stop(now);
        shares.advance(now, live.size());
        shares.charge(job.sandbox, Math.max(now - job.since, bytes.time(written)));
    }

    private Stage stage(JobState state) {
        return switch (state) {
            case WAITING, CAPTURING -> captures;
            case CAPTURED, PERSISTING -> persists;
            case OVER -> throw new IllegalStateException("the job is over");
        };
    }
}
