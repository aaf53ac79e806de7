package dev.crab.runtime.session;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parked sandboxes of all sessions of a runtime: one thread that parks them one after the other, and the memory that they may have. Where
 * the host's memory runs short, all are given up. Thread-safe.
 */
final class StandbyPool implements AutoCloseable {
    /** Below this share of the host's memory left to be had, nothing is parked: a tenth. */
    private static final int RESERVE = 10;

    private static final Logger LOG = LoggerFactory.getLogger(StandbyPool.class);

    private final StandbyPolicy policy;
    private final LongSupplier available;
    private final long reserve;
    private final @Nullable Future<?> watching;
    private final Set<Standbys> members = ConcurrentHashMap.newKeySet();
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "crab-standby");
        thread.setDaemon(true);
        return thread;
    });

    /**
     * A pool.
     *
     * @param available bytes of the host's memory that are to be had
     * @param total bytes that it has
     */
    StandbyPool(StandbyPolicy policy, LongSupplier available, long total) {
        this.policy = policy;
        this.available = available;
        this.reserve = total / RESERVE;
        this.watching =
                policy.perSession() == 0 ? null : thread.scheduleWithFixedDelay(this::watch, 1, 1, TimeUnit.SECONDS);
    }

    StandbyPolicy policy() {
        return policy;
    }

    void add(Standbys standbys) {
        members.add(standbys);
    }

    void remove(Standbys standbys) {
        members.remove(standbys);
    }

    void submit(Runnable work) {
        try {
            thread.execute(work);
        } catch (RejectedExecutionException e) {
            LOG.debug("nothing is parked any more, the runtime is being closed");
        }
    }

    /** Whether there is room for one more that has about so many bytes. */
    boolean hasRoom(long bytes) {
        return bytes() + bytes <= policy.memory() && available.getAsLong() - bytes > reserve;
    }

    /** Bytes of memory that all parked processes have. */
    long bytes() {
        return members.stream().mapToLong(Standbys::bytes).sum();
    }

    /** Gives all up where memory runs short. */
    void watch() {
        if (available.getAsLong() < reserve && bytes() > 0) {
            LOG.info("memory runs short: {} bytes of parked sandboxes are given up", bytes());
            members.forEach(Standbys::dropAll);
        }
    }

    @Override
    public void close() {
        if (watching != null) {
            watching.cancel(false);
        }
        thread.shutdown();
        boolean interrupted = false;
        boolean over = false;
        while (!over) {
            try {
                // What it works on is closed next.
                over = thread.awaitTermination(1, TimeUnit.MINUTES);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
