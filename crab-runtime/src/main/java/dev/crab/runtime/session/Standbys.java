package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.Revival.Alive;
import dev.crab.runtime.session.SessionRecords.Point;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.Manifest;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sandboxes of one session that are restored ahead and held still, one for each of the newest checkpoints. They are made behind the
 * caller's back, after a commit, when an LLM call is usually in flight. Thread-safe.
 */
final class Standbys implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Standbys.class);

    private final SessionServices services;
    private final CheckpointStore store;
    private final SandboxSlots slots;
    private final StandbyPool pool;

    // Guarded by this.
    private final Map<Long, Parked> parked = new HashMap<>();
    private final Deque<Parked> doomed = new ArrayDeque<>();
    private int ending;
    private Set<Long> wanted = Set.of();
    private long parking;
    private long lastBytes;
    private boolean closed;

    private record Parked(Revival.Held held, long bytes) {}

    Standbys(SessionServices services, CheckpointStore store, SandboxSlots slots, StandbyPool pool) {
        this.services = services;
        this.store = store;
        this.slots = slots;
        this.pool = pool;
    }

    /** The session is at the end of that timeline: from now on its newest checkpoints are those to be parked. */
    void want(Timeline timeline) {
        if (pool.policy().perSession() == 0) {
            return;
        }
        pool.add(this);
        Set<Long> newest = new LinkedHashSet<>();
        List<Point> points = timeline.points();
        for (int i = points.size() - 1; i >= 0 && newest.size() < pool.policy().perSession(); i--) {
            long generation = points.get(i).commit().generation();
            if (generation > 0) {
                newest.add(generation);
            }
        }
        synchronized (this) {
            wanted = newest;
            parked.entrySet().removeIf(one -> {
                boolean goes = !newest.contains(one.getKey());
                if (goes) {
                    doomed.add(one.getValue());
                }
                return goes;
            });
        }
        pool.submit(() -> {
            endDoomed();
            newest.forEach(generation -> park(timeline, generation));
        });
    }

    private void park(Timeline timeline, long generation) {
        synchronized (this) {
            if (closed || !wanted.contains(generation) || parked.containsKey(generation)) {
                return;
            }
            if (!pool.hasRoom(lastBytes)) {
                LOG.debug("session {}: no room to park generation {}", store.session(), generation);
                return;
            }
            parking = generation;
        }
        Parked made = null;
        try {
            if (!store.manifests().generations().contains(generation)) {
                // The turn counts, and is not kept any more.
                LOG.debug("session {}: generation {} is not kept", store.session(), generation);
                return;
            }
            Manifest manifest = store.manifests().read(generation);
            SessionOpening.checkImage(services, store.session(), timeline.spec(), manifest);
            Revival.Held held = new Revival(services, store.session(), slots.next()).park(timeline.spec(), manifest);
            made = new Parked(held, held.memory());
            FaultPoints.reach("standby.parked");
        } catch (CrabException e) {
            LOG.info("session {}: generation {} is not parked", store.session(), generation, e);
        } finally {
            keep(generation, made);
            endDoomed();
            synchronized (this) {
                parking = 0;
                notifyAll();
            }
        }
    }

    private synchronized void keep(long generation, @Nullable Parked made) {
        if (made == null) {
            return;
        }
        lastBytes = made.bytes();
        // What is over the bound by itself is not kept either.
        boolean kept = !closed && wanted.contains(generation) && pool.hasRoom(made.bytes());
        if (kept) {
            parked.put(generation, made);
        } else {
            doomed.add(made);
        }
    }

    /** Lets the one of that generation go, which then is the caller's; waits for it if it is just being made. Null if there is none. */
    @Nullable
    Alive resume(long generation) {
        Parked found = take(generation);
        if (found == null) {
            return null;
        }
        try {
            Alive alive = found.held().resume();
            FaultPoints.reach("standby.taken");
            return alive;
        } catch (CrabException e) {
            LOG.info("session {}: what was parked of generation {} is lost", store.session(), generation, e);
            return null;
        }
    }

    private synchronized @Nullable Parked take(long generation) {
        await(() -> parking != generation || parking == 0);
        return parked.remove(generation);
    }

    synchronized int count() {
        return parked.size();
    }

    /** Bytes of memory that the parked processes have. */
    synchronized long bytes() {
        return parked.values().stream().mapToLong(Parked::bytes).sum();
    }

    /** Gives all up; the next commit has some parked again. */
    void dropAll() {
        synchronized (this) {
            doomed.addAll(parked.values());
            parked.clear();
            wanted = Set.of();
        }
        endDoomed();
    }

    private void endDoomed() {
        while (true) {
            Parked one;
            synchronized (this) {
                one = doomed.poll();
                if (one == null) {
                    return;
                }
                ending++;
            }
            try {
                Quietly.all(store.session(), one.held()::close);
            } finally {
                synchronized (this) {
                    ending--;
                    notifyAll();
                }
            }
        }
    }

    /** Gives all up for good: when it returns nothing of them is left, for the session may be another's then. Idempotent. */
    @Override
    public void close() {
        pool.remove(this);
        synchronized (this) {
            closed = true;
        }
        await(() -> parking == 0);
        dropAll();
        await(() -> ending == 0);
    }

    private synchronized void await(BooleanSupplier state) {
        boolean interrupted = false;
        while (!state.getAsBoolean()) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
