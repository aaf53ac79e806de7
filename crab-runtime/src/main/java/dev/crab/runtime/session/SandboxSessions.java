package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.store.DataDirectory;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Opens sessions and knows which are open in this process. Thread-safe. */
public final class SandboxSessions implements AutoCloseable {
    private final SessionServices services;
    private final StandbyPool standbys;
    private final ExecutorService housekeeping = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "crab-retention");
        thread.setDaemon(true);
        return thread;
    });

    private final SessionCircle circle = new SessionCircle() {
        @Override
        public ExecutorService housekeeping() {
            return housekeeping;
        }

        @Override
        public StandbyPool standbys() {
            return standbys;
        }

        @Override
        public SandboxSession openFresh(String id) {
            return SandboxSessions.this.open(new SessionOpening(services, id, null, true));
        }

        @Override
        public void closed(DurableSession session) {
            forget(session);
        }
    };

    // Guarded by this.
    private final Set<DurableSession> open = new LinkedHashSet<>();
    private boolean closed;

    /**
     * Sessions of those parts.
     *
     * @param available bytes of the host's memory that are to be had at the moment
     * @param total bytes that it has
     */
    public SandboxSessions(SessionServices services, LongSupplier available, long total) {
        this.services = services;
        this.standbys = new StandbyPool(services.standby(), available, total);
    }

    /**
     * Opens a session.
     *
     * @param spec what a new sandbox is like; null means that the session must exist
     * @throws CrabException SESSION_UNKNOWN, SESSION_LOCKED, and what reading the store and restoring can throw
     */
    public SandboxSession open(String id, @Nullable SandboxSpec spec) {
        return open(new SessionOpening(services, id, spec, false));
    }

    private SandboxSession open(SessionOpening opening) {
        synchronized (this) {
            if (closed) {
                throw CrabException.of(
                        ErrorCode.STATE_INVALID, "no session can be opened", "the runtime is closed", "make a new one");
            }
        }
        DurableSession session = opening.open(circle);
        boolean late;
        synchronized (this) {
            late = closed;
            open.add(session);
        }
        if (late) {
            close();
        }
        return session;
    }

    /**
     * Ends the sandbox that a dead owner left running; what was committed stays.
     *
     * @throws CrabException SESSION_UNKNOWN; SESSION_LOCKED while anybody, this process included, has it open; IO_FAILED
     */
    public void stop(String id) {
        SessionRemoval.stop(services, id);
    }

    /**
     * Goes back to a turn of a session that nobody has open; its sandbox comes back with the next opening.
     *
     * @throws CrabException SESSION_UNKNOWN; SESSION_LOCKED; TURN_UNKNOWN; TURN_NOT_KEPT; what checking the turn finds; IO_FAILED
     */
    public Rollback rollback(String id, long turn, String note) {
        return SessionAtRest.rollback(services, id, turn, note);
    }

    /**
     * Makes sessions that begin where one that nobody has open was at a turn, and opens none of them.
     *
     * @throws CrabException SESSION_UNKNOWN; SESSION_LOCKED; TURN_UNKNOWN; TURN_NOT_KEPT; NAME_INVALID; NAME_TAKEN; IO_FAILED
     */
    public void branch(String id, long turn, List<String> names) {
        SessionAtRest.branch(services, id, turn, names);
    }

    /** Frees what nobody needs any more: {@link GarbageCollector}. */
    public GarbageCollector.Report collectGarbage(boolean dryRun) {
        return GarbageCollector.collect(services, dryRun);
    }

    /**
     * Removes a session for good, with everything that was committed.
     *
     * @throws CrabException SESSION_UNKNOWN; SESSION_LOCKED while anybody, this process included, has it open; IO_FAILED
     */
    public void remove(String id) {
        SessionRemoval.remove(services, id);
    }

    /**
     * Removes what is kept of a session that was opened without a sandbox; needs nothing of the host.
     *
     * @throws CrabException SESSION_UNKNOWN; SESSION_LOCKED while anybody, this process included, has it open; IO_FAILED
     */
    public static void removeChat(DataDirectory data, String id) {
        ChatArchive.remove(data, id);
    }

    /**
     * Names a turn of a session that nobody has open; needs nothing of the host.
     *
     * @param label null takes the turn's label away
     * @throws CrabException SESSION_UNKNOWN; SESSION_LOCKED; TURN_UNKNOWN; TURN_NOT_KEPT; NAME_INVALID; DISK_FULL, IO_FAILED
     */
    public static void label(DataDirectory data, String id, long turn, @Nullable String label) {
        SessionAtRest.label(data, id, turn, label);
    }

    private synchronized void forget(DurableSession session) {
        open.remove(session);
    }

    /** Closes every session that is open. Idempotent. */
    @Override
    public void close() {
        List<DurableSession> sessions;
        synchronized (this) {
            closed = true;
            sessions = new ArrayList<>(open);
        }
        RuntimeException first = null;
        for (DurableSession session : sessions) {
            try {
                session.close();
            } catch (RuntimeException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        standbys.close();
        housekeeping.shutdown();
        if (first != null) {
            throw first;
        }
    }
}
