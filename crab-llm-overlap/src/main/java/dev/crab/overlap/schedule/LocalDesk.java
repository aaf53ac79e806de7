package dev.crab.overlap.schedule;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A queue in this process, for its own jobs and those of processes that are connected. Used with the scheduler's lock held. */
final class LocalDesk implements Desk {
    private final AdmissionQueue queue;
    private final ReentrantLock lock;
    private final LongSupplier clock;
    private final ScheduledExecutorService timer;
    private final Map<Job, Consumer<JobState>> applicants = new HashMap<>();
    private @Nullable Future<?> alarm;
    private long alarmAt = Long.MAX_VALUE;
    private boolean closed;

    LocalDesk(AdmissionPolicy policy, ReentrantLock lock, LongSupplier clock, ScheduledExecutorService timer) {
        this.queue = new AdmissionQueue(policy, clock.getAsLong());
        this.lock = lock;
        this.clock = clock;
        this.timer = timer;
    }

    @Override
    public Place enter(Application application, Consumer<JobState> granted) {
        long now = clock.getAsLong();
        Job job = queue.enter(
                application.sandbox(),
                application.kind(),
                application.state(),
                now + application.dueIn(),
                application.promoted(),
                application.unwritten(),
                now);
        applicants.put(job, granted);
        moveOn(now);
        return new LocalPlace(job);
    }

    private void moveOn(long now) {
        if (closed) {
            return;
        }
        for (Job job : queue.grants(now)) {
            Consumer<JobState> applicant = applicants.get(job);
            if (applicant != null) {
                applicant.accept(job.state());
            }
        }
        long wake = queue.nextWake(now);
        if (wake < alarmAt) {
            cancelAlarm();
            alarmAt = wake;
            alarm = timer.schedule(this::rings, Math.max(0, wake - now), TimeUnit.NANOSECONDS);
        }
    }

    private void rings() {
        lock.lock();
        try {
            alarmAt = Long.MAX_VALUE;
            moveOn(clock.getAsLong());
        } finally {
            lock.unlock();
        }
    }

    private void cancelAlarm() {
        if (alarm != null) {
            alarm.cancel(false);
        }
    }

    @Override
    public void close() {
        closed = true;
        cancelAlarm();
        applicants.clear();
    }

    private final class LocalPlace implements Place {
        private final Job job;

        LocalPlace(Job job) {
            this.job = job;
        }

        @Override
        public void promote() {
            queue.promote(job, clock.getAsLong());
        }

        @Override
        public void captured(long bytes) {
            long now = clock.getAsLong();
            queue.captured(job, bytes, now);
            moveOn(now);
        }

        @Override
        public void force() {
            queue.force(job, clock.getAsLong());
        }

        @Override
        public void end(long bytes) {
            applicants.remove(job);
            long now = clock.getAsLong();
            queue.end(job, bytes, now);
            moveOn(now);
        }
    }
}
