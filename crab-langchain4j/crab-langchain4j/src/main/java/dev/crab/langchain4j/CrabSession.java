package dev.crab.langchain4j;

import dev.crab.overlap.ReplayScope;
import dev.crab.overlap.TurnReport;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.SandboxSession;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A scope on the current thread: AI services called inside belong to this session. Made by {@link Crab#session} and {@link Crab#run};
 * closing it leaves the scope, the sandbox lives on.
 *
 * <p>Inside a durable run ({@link Crab#run}) invocations that have completed are replayed too, so that a program that was killed may be
 * started again from the top: what was done is answered from the journal, until {@link #complete()}.
 *
 * <p>Close it on the thread that made it, innermost first.
 */
public final class CrabSession implements AutoCloseable {
    private static final ThreadLocal<Deque<CrabSession>> AMBIENT = ThreadLocal.withInitial(ArrayDeque::new);
    private static final Set<CrabSession> OPEN_RUNS = ConcurrentHashMap.newKeySet();

    private final SessionEntry entry;
    private final @Nullable String run;
    private final @Nullable ReplayScope scope;

    private CrabSession(SessionEntry entry, @Nullable String run) {
        this.entry = entry;
        this.run = run;
        this.scope = run == null ? null : ReplayScope.run(run);
    }

    static CrabSession enter(SessionEntry entry, @Nullable String run) {
        CrabSession session = new CrabSession(entry, run);
        AMBIENT.get().push(session);
        if (run != null) {
            OPEN_RUNS.add(session);
        }
        return session;
    }

    static @Nullable CrabSession current() {
        return AMBIENT.get().peek();
    }

    /** The only durable run that this process is in, of that session or (null) of any; null if there is none or more than one. */
    static @Nullable CrabSession onlyOpenRun(@Nullable SessionEntry entry) {
        List<CrabSession> runs = OPEN_RUNS.stream()
                .filter(one -> Crab.hub().known(one.id()) == one.entry)
                .filter(one -> entry == null || one.entry == entry)
                .toList();
        return runs.size() == 1 ? runs.get(0) : null;
    }

    SessionEntry entry() {
        return entry;
    }

    @Nullable
    ReplayScope scope() {
        return scope;
    }

    /** The session's name. */
    public String id() {
        return entry.id();
    }

    /** The session's sandbox. */
    public Sandbox sandbox() {
        return entry.handle();
    }

    /** How the session came to be where it is; opens it. */
    public SandboxSession.Recovery recovery() {
        return entry.open().session().recovery();
    }

    /** Reports of all turns so far, those before a crash included. */
    public List<TurnReport> reports() {
        return entry.open().turns().reports();
    }

    /**
     * Prepares the sandbox: runs the work once in the session's life and commits it as a turn of its own. A program that is started again
     * finds it done.
     */
    public void prepare(Consumer<Sandbox> work) {
        entry.open().turns().prepare(work);
    }

    /** The durable run is complete: from here on its invocations are not replayed. Does nothing outside a run. */
    public void complete() {
        if (run != null) {
            entry.open().turns().replay().completeRun(run);
        }
    }

    /**
     * An executor whose tasks are in this scope, whatever thread they run on: for agents that work side by side while several durable runs
     * are open in one process.
     */
    public Executor executor(Executor target) {
        return task -> target.execute(() -> {
            Deque<CrabSession> scopes = AMBIENT.get();
            scopes.push(this);
            try {
                task.run();
            } finally {
                scopes.remove(this);
            }
        });
    }

    @Override
    public void close() {
        AMBIENT.get().remove(this);
        OPEN_RUNS.remove(this);
    }
}
