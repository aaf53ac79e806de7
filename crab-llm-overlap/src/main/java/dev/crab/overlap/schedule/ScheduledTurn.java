package dev.crab.overlap.schedule;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.session.Admission;
import java.util.concurrent.locks.Condition;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** One attempt to commit a turn, among all others of the host. Made by {@link CaptureScheduler#turn}; thread-safe. */
public final class ScheduledTurn implements Admission {
    private final CaptureScheduler scheduler;
    private final String sandbox;
    private final Condition changed;

    // Guarded by the scheduler's lock.
    private JobKind kind = JobKind.FILES;
    private @Nullable JobState state;
    private long due;
    private long unwritten;
    private boolean promoted;
    private Desk.@Nullable Place place;
    private int entered;

    ScheduledTurn(CaptureScheduler scheduler, String sandbox, long due, boolean promoted, Condition changed) {
        this.scheduler = scheduler;
        this.sandbox = sandbox;
        this.due = due;
        this.promoted = promoted;
        this.changed = changed;
    }

    /** Somebody waits for this turn now: its response has arrived, or a tool stands at the gate. Idempotent. */
    public void promote() {
        safely(() -> {
            if (!promoted) {
                promoted = true;
                // What was expected has come: later or earlier, that is when somebody began to wait.
                due = scheduler.now();
                if (place != null) {
                    place.promote();
                }
            }
            return 0;
        });
    }

    @Override
    public long awaitCapture(Effect effect) {
        return safely(() -> {
            if (state != null) {
                return 0;
            }
            kind = JobKind.of(effect);
            state = JobState.WAITING;
            scheduler.enter(this);
            return awaitGrant();
        });
    }

    @Override
    public long awaitPersist(long bytes) {
        return safely(() -> {
            if (state != JobState.CAPTURING) {
                return 0;
            }
            state = JobState.CAPTURED;
            unwritten = bytes;
            if (place != null) {
                place.captured(bytes);
            }
            return awaitGrant();
        });
    }

    @Override
    public void release(long bytes) {
        safely(() -> {
            boolean asked = state != null && state != JobState.OVER;
            state = JobState.OVER;
            changed.signalAll();
            scheduler.leave(this);
            if (asked && place != null) {
                place.end(bytes);
            }
            place = null;
            return 0;
        });
    }

    /** With the lock held. A fault in here must not cost the turn that it is meant to serve. */
    private long safely(LongSupplier step) {
        scheduler.lock();
        try {
            return step.getAsLong();
        } catch (RuntimeException e) {
            scheduler.failed(sandbox, e);
            return 0;
        } finally {
            scheduler.unlock();
        }
    }

    /** Asks that desk, whatever was asked before. */
    void enter(Desk desk) {
        int number = ++entered;
        JobState now = state;
        if (now == null || now == JobState.OVER) {
            return;
        }
        place = null;
        Desk.Application application =
                new Desk.Application(sandbox, kind, now, due - scheduler.now(), promoted, unwritten);
        place = desk.enter(application, granted -> granted(number, granted));
    }

    /** There is nobody to ask for the moment. */
    void withdraw() {
        entered++;
        place = null;
    }

    private void granted(int number, JobState now) {
        // A grant that crossed the end of a wait, or comes from a desk that is gone, says nothing.
        if (number == entered
                && state != null
                && state.isWaiting()
                && JobTransitions.next(state, JobEvent.GRANTED) == now) {
            state = now;
            changed.signalAll();
        }
    }

    /** Whoever waits goes on without a grant. */
    void goOn() {
        JobState waiting = state;
        if (waiting != null && waiting.isWaiting()) {
            state = JobTransitions.next(waiting, JobEvent.GRANTED);
            if (place != null) {
                place.force();
            }
            changed.signalAll();
        }
    }

    private long awaitGrant() {
        if (scheduler.isClosed()) {
            goOn();
        }
        if (state == null || !state.isWaiting()) {
            return 0;
        }
        long begin = System.nanoTime();
        long left = scheduler.maxWait();
        boolean interrupted = false;
        while (state.isWaiting() && left > 0 && !interrupted) {
            try {
                left = changed.awaitNanos(left);
            } catch (InterruptedException e) {
                // Whoever interrupts wants it over with; the turn must not suffer.
                interrupted = true;
            }
        }
        if (state.isWaiting()) {
            goOn();
            if (!interrupted) {
                scheduler.waitedOut(sandbox);
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return System.nanoTime() - begin;
    }
}
