package dev.crab.overlap.schedule;

import dev.crab.runtime.error.CrabException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which sandbox is captured next, and whose captured state is written next, over all sandboxes of this process and, by
 * {@link SchedulerSettings.HostWide}, of the host. Thread-safe. One for all sessions of a process.
 *
 * <p>Whoever commits a turn makes a {@link ScheduledTurn} of it and passes that to the runtime. Whatever happens here costs no turn: where
 * nobody answers, the turn goes on as if it were alone.
 */
public final class CaptureScheduler implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CaptureScheduler.class);

    private final SchedulerSettings settings;
    private final LatencyEstimator estimator = new LatencyEstimator();
    private final ReentrantLock lock = new ReentrantLock();
    private final ScheduledThreadPoolExecutor timer;
    private final DeskChoice choice;

    // Guarded by lock.
    private final Set<ScheduledTurn> turns = new LinkedHashSet<>();
    private @Nullable Desk desk;
    private boolean closed;
    private boolean toldOfWait;

    private CaptureScheduler(SchedulerSettings settings) {
        this.settings = settings;
        this.timer = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "crab-scheduler");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
        this.choice = new DeskChoice(settings, lock, this::now, timer, this::change);
    }

    /**
     * Makes a scheduler; looks for those of other programs on this host, for some seconds at most.
     *
     * @throws CrabException IO_FAILED if the programs of the host cannot meet, and the settings insist
     */
    public static CaptureScheduler open(SchedulerSettings settings) {
        CaptureScheduler scheduler = new CaptureScheduler(settings);
        boolean done = false;
        try {
            scheduler.choice.first();
            done = true;
        } finally {
            if (!done) {
                scheduler.close();
            }
        }
        return scheduler;
    }

    /** Predicts windows; told of each that ends. */
    public LatencyEstimator estimator() {
        return estimator;
    }

    /**
     * A turn is about to be committed.
     *
     * @param sandbox whose; one commit at a time for each name
     * @param dueIn nanoseconds until its response is expected; may be negative
     * @param promoted whether somebody waits for it already
     */
    public ScheduledTurn turn(String sandbox, long dueIn, boolean promoted) {
        return new ScheduledTurn(this, sandbox, now() + dueIn, promoted, lock.newCondition());
    }

    /** Where this process asks at the moment, for reading. */
    public String place() {
        return choice.describe();
    }

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    long now() {
        return System.nanoTime();
    }

    long maxWait() {
        return settings.maxWait().toNanos();
    }

    void enter(ScheduledTurn turn) {
        if (closed) {
            turn.goOn();
            return;
        }
        turns.add(turn);
        if (desk != null) {
            turn.enter(desk);
        }
    }

    boolean isClosed() {
        return closed;
    }

    void leave(ScheduledTurn turn) {
        turns.remove(turn);
    }

    void failed(String sandbox, RuntimeException failure) {
        LOG.error(
                "The commit of {} goes on without being scheduled, because of a fault in the scheduler",
                sandbox,
                failure);
    }

    void waitedOut(String sandbox) {
        if (!toldOfWait) {
            toldOfWait = true;
            LOG.warn(
                    "The commit of {} has waited for {} s among those of the host and goes on without its turn having come;"
                            + " further ones are not told",
                    sandbox,
                    settings.maxWait().toSeconds());
        }
    }

    /** All jobs ask there from now on; null means that they have to wait until it is known where. */
    private void change(@Nullable Desk next) {
        if (closed) {
            return;
        }
        desk = next;
        for (ScheduledTurn turn : List.copyOf(turns)) {
            if (next == null) {
                turn.withdraw();
            } else {
                turn.enter(next);
            }
        }
    }

    /** Whoever waits goes on at once, and so does whoever asks later. Idempotent. */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            desk = null;
            for (ScheduledTurn turn : turns) {
                turn.withdraw();
                turn.goOn();
            }
            turns.clear();
        } finally {
            lock.unlock();
        }
        choice.close();
        timer.shutdownNow();
    }
}
