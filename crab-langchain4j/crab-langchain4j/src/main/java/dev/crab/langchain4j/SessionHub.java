package dev.crab.langchain4j;

import dev.crab.overlap.TurnCoordinator;
import dev.crab.overlap.schedule.CaptureScheduler;
import dev.crab.overlap.schedule.SchedulerSettings;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sessions that this process has named. Thread-safe. */
final class SessionHub implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SessionHub.class);
    private static final Duration ASK_AGAIN = Duration.ofSeconds(5);

    private final CrabOptions options;
    private final CrabConfig config;
    private final Map<String, SessionEntry> entries = new ConcurrentHashMap<>();
    private final SchedulerSettings schedulerSettings;
    private @Nullable CrabRuntime runtime;
    private @Nullable CaptureScheduler scheduler;
    private @Nullable Thread hook;
    private final Object leaving = new Object();
    private volatile boolean closed;

    /** Guards and announces the number of times that somebody said there may be an answer. */
    private final Object answers = new Object();

    private long resumed;

    SessionHub(CrabOptions options) {
        Supervision.begin();
        this.options = options;
        this.config = CrabConfig.resolve(options.settings);
        this.schedulerSettings = SchedulerSettings.resolve(options.settings);
    }

    CrabOptions options() {
        return options;
    }

    CrabConfig config() {
        return config;
    }

    boolean isInUse() {
        return !entries.isEmpty();
    }

    SessionEntry entry(String id, @Nullable SandboxSpec spec) {
        if (config.enabled()) {
            Interceptor.ensureActive();
        }
        return entries.computeIfAbsent(id, name -> new SessionEntry(name, spec == null ? options.spec : spec, this));
    }

    /**
     * The entry of a session that the program names, as opposed to one that it only looks at.
     *
     * @param spec what its sandbox is to be like; null: whatever it is
     * @throws CrabException CONFIG_INVALID if it was named, or is open, with another one
     */
    SessionEntry named(String id, @Nullable SandboxSpec spec) {
        SessionEntry entry = entry(id, null);
        if (spec != null) {
            entry.wish(spec);
        }
        entry.name();
        return entry;
    }

    @Nullable
    SessionEntry known(String id) {
        return entries.get(id);
    }

    /** The only session that the program has named; null if there is none or more than one. Those that it only looks at do not count. */
    @Nullable
    SessionEntry only() {
        List<SessionEntry> named =
                entries.values().stream().filter(SessionEntry::isNamed).toList();
        return named.size() == 1 ? named.get(0) : null;
    }

    /** Somebody says that there may be an answer now. */
    void resumed() {
        synchronized (answers) {
            resumed++;
            answers.notifyAll();
        }
    }

    /** Asks until there is an answer. */
    <T> T await(Supplier<Optional<T>> answer) {
        while (true) {
            long before;
            synchronized (answers) {
                before = resumed;
            }
            Optional<T> now = answer.get();
            if (now.isPresent()) {
                return now.get();
            }
            long until = System.nanoTime() + ASK_AGAIN.toNanos();
            synchronized (answers) {
                // Whoever came in between is not missed.
                for (long left = ASK_AGAIN.toNanos(); resumed == before && left > 0; left = until - System.nanoTime()) {
                    refuseIfClosed();
                    try {
                        TimeUnit.NANOSECONDS.timedWait(answers, left);
                    } catch (InterruptedException e) {
                        throw CrabException.interrupted("waiting for an answer", e);
                    }
                }
            }
            refuseIfClosed();
        }
    }

    private void refuseIfClosed() {
        if (closed) {
            throw CrabException.of(
                    ErrorCode.STATE_INVALID,
                    "there is no waiting for an answer any more",
                    "Crab.close() was called, or the program ends",
                    "make the same call again: it comes back to where it waited");
        }
    }

    /**
     * Refuses a session that neither this process has named nor the data directory holds.
     *
     * @throws CrabException SESSION_UNKNOWN
     */
    void ensureExists(String id) {
        if (known(id) == null
                && options.opener == null
                && !Files.isDirectory(new DataDirectory(config.data()).session(id))
                && !ChatOnlySession.exists(config.data(), id)) {
            throw CheckpointStore.unknown(new DataDirectory(config.data()), id);
        }
    }

    /** For the session's entry. */
    OpenSession open(String id, SandboxSpec spec) {
        if (closed) {
            throw CrabException.of(
                    ErrorCode.SANDBOX_LOST,
                    "session " + id + " cannot be opened",
                    "Crab.close() was called after its sandbox was asked for",
                    "ask for the sandbox again");
        }
        leaveWithTheJvm();
        SessionOpener opener = options.opener;
        SandboxSession session = opener != null ? opener.open(id, spec) : openHere(id, spec);
        return lead(session);
    }

    /** Sessions that begin where one was at a turn, each known here by its name; all or, where one cannot be led, none. */
    List<String> branch(SessionEntry entry, Function<SandboxSession, List<SandboxSession>> branching) {
        List<SandboxSession> branches = branching.apply(entry.open().session());
        List<OpenSession> led = new ArrayList<>();
        boolean done = false;
        try {
            branches.forEach(branch -> led.add(lead(branch)));
            done = true;
        } finally {
            if (!done) {
                led.forEach(branch -> quietly(branch.session().id(), branch::close));
                branches.forEach(branch -> quietly(branch.id(), branch::close));
                branches.forEach(branch -> quietly(branch.id(), () -> runtime().delete(branch.id())));
            }
        }
        led.forEach(branch -> entry(branch.session().id(), entry.spec()).adopt(branch));
        return branches.stream().map(SandboxSession::id).toList();
    }

    private static void quietly(String id, Runnable work) {
        try {
            work.run();
        } catch (RuntimeException e) {
            LOG.warn("What was begun of session {} could not be removed", id, e);
        }
    }

    private OpenSession lead(SandboxSession session) {
        String id = session.id();
        SessionOpener opener = options.opener;
        try {
            TurnCoordinator.Builder builder = TurnCoordinator.builder(session)
                    .onUncaptured(config.onUncaptured())
                    .scheduler(opener == null && !(session instanceof ChatOnlySession) ? scheduler() : null);
            options.listeners.forEach(builder::listener);
            OpenSession open = new OpenSession(session, builder.build());
            if (session.recovery() instanceof SandboxSession.Recovery.Restored restored
                    && !(session instanceof ChatOnlySession)) {
                LOG.info(
                        "Session {} is back at turn {}: {} processes restored in {} ms",
                        id,
                        restored.commit().turn(),
                        restored.processesRestored(),
                        restored.restoreMillis());
            }
            return open;
        } catch (RuntimeException e) {
            session.close();
            throw e;
        }
    }

    private SandboxSession openHere(String id, SandboxSpec spec) {
        SandboxSession session;
        try {
            session = runtime().open(id, spec);
        } catch (CrabException e) {
            if (!ChatOnlySession.isLack(e)) {
                throw e;
            }
            session = ChatOnlySession.open(config.data(), id, e);
            LOG.warn("Session {} has no sandbox, only its chat and tool results are kept: {}", id, e.getMessage());
            return session;
        }
        if (ChatOnlySession.exists(config.data(), id)) {
            LOG.warn(
                    "Session {} was begun without a sandbox; what it did then is not taken up, now that it has one",
                    id);
        }
        return session;
    }

    private synchronized @Nullable CaptureScheduler scheduler() {
        if (scheduler == null && config.enabled()) {
            scheduler = CaptureScheduler.open(schedulerSettings);
        }
        return scheduler;
    }

    private synchronized CrabRuntime runtime() {
        CrabRuntime current = runtime;
        if (current == null) {
            CrabRuntime.Builder builder = CrabRuntime.builder();
            options.settings.forEach(builder::set);
            current = builder.build();
            runtime = current;
        }
        return current;
    }

    /** Only the running sandboxes end with the JVM; what was committed is in the store. */
    private synchronized void leaveWithTheJvm() {
        if (hook == null) {
            Thread closer = new Thread(this::leave, "crab-shutdown");
            Runtime.getRuntime().addShutdownHook(closer);
            hook = closer;
        }
    }

    void close(String id) {
        SessionEntry entry = entries.get(id);
        if (entry != null) {
            entry.close();
        }
    }

    @Override
    public void close() {
        Thread closer;
        synchronized (this) {
            closer = hook;
            hook = null;
        }
        if (closer != null) {
            try {
                Runtime.getRuntime().removeShutdownHook(closer);
            } catch (IllegalStateException e) {
                // The JVM ends already, by SIGTERM for instance: whoever closes must not be quicker than what saves.
                leave();
            }
        }
        closeAll();
    }

    /** The JVM ends, by SIGTERM for instance: what the open turns did so far is committed first, if that is to be had in time. */
    private void leave() {
        synchronized (leaving) {
            leaveOnce();
        }
    }

    private void leaveOnce() {
        closed = true;
        long deadline = System.nanoTime() + config.shutdownWait().toNanos();
        entries.values().forEach(entry -> entry.leave(0)); // all stop now, before any is waited for
        entries.values().forEach(entry -> {
            if (!entry.leave(deadline - System.nanoTime())) {
                LOG.warn(
                        "Session {} ends in the middle of a turn that could not be committed within {} s; it goes on from the one before",
                        entry.id(),
                        config.shutdownWait().toSeconds());
            }
        });
        closeAll();
    }

    private void closeAll() {
        closed = true;
        resumed();
        for (String id : entries.keySet()) {
            try {
                close(id);
            } catch (RuntimeException e) {
                LOG.warn("Session {} could not be closed", id, e);
            }
        }
        synchronized (this) {
            if (scheduler != null) {
                scheduler.close();
                scheduler = null;
            }
            if (runtime != null) {
                runtime.close();
                runtime = null;
            }
        }
    }
}
