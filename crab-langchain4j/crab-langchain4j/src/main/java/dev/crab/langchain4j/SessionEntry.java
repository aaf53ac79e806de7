package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.overlap.RolledBack;
import dev.crab.overlap.TurnCoordinator;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.langchain4j.memory.ChatMemory;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A session that the program has named, opened when it is first needed. Thread-safe. */
final class SessionEntry {
    private static final Logger LOG = LoggerFactory.getLogger(SessionEntry.class);

    private final String id;
    private SandboxSpec spec;
    private boolean wished;
    private volatile boolean named;
    private final SessionHub hub;
    private final SandboxHandle handle = new SandboxHandle(this);
    private @Nullable OpenSession open;
    private SandboxSession.@Nullable Recovery told;
    private final Set<RunningTool> running = new HashSet<>();
    private final SharedMemories memories = new SharedMemories();
    private volatile boolean tainted;

    SessionEntry(String id, SandboxSpec spec, SessionHub hub) {
        this.id = id;
        this.spec = spec;
        this.hub = hub;
    }

    String id() {
        return id;
    }

    /** Where it belongs, with the options that hold for it whatever Crab is configured to later. */
    SessionHub hub() {
        return hub;
    }

    synchronized SandboxSpec spec() {
        return spec;
    }

    /**
     * The program says what the sandbox is to be like.
     *
     * @throws CrabException CONFIG_INVALID if it has said otherwise before, or the session is open with another one
     */
    synchronized void wish(SandboxSpec wish) {
        if (!wish.equals(spec) && (wished || open != null)) {
            throw CrabException.of(
                    ErrorCode.CONFIG_INVALID,
                    "the sandbox of session " + id + " cannot be as in " + wish,
                    (open != null ? "it is open" : "it was asked for") + " as in " + spec,
                    "give the same specification wherever the session is named, and before its sandbox is first used");
        }
        spec = wish;
        wished = true;
    }

    /** The program has named it, so that calls may belong to it: see {@link Crab}. */
    void name() {
        named = true;
    }

    boolean isNamed() {
        return named;
    }

    /** Whether several chat memories of this session go by that identity: see {@link SharedMemories}. */
    boolean isShared(String identity, ChatMemory memory) {
        return memories.isShared(id, identity, memory);
    }

    Sandbox handle() {
        return handle;
    }

    synchronized OpenSession open() {
        OpenSession current = open;
        if (current == null) {
            current = hub.open(id, spec);
            open = current;
        }
        return current;
    }

    /**
     * Goes back to a turn, sandbox and chat alike; opens the session.
     *
     * @param how does it
     */
    RolledBack rollback(Function<TurnCoordinator, RolledBack> how) {
        OpenSession opened = open();
        RolledBack back = how.apply(opened.turns());
        synchronized (this) {
            tainted = false;
        }
        return back;
    }

    /** Takes over a session that somebody else has opened. */
    synchronized void adopt(OpenSession opened) {
        open = opened;
    }

    /** What the model has to be told about the newest rollback and restore; null if there is nothing, or it has been taken. */
    synchronized @Nullable String takeNotice() {
        OpenSession current = open;
        if (current == null) {
            return null;
        }
        String back =
                current.turns().replay().takeUntold().map(Notices::rolledBack).orElse(null);
        SandboxSession.Recovery newest = current.session().recovery();
        String restored = newest == told ? null : Notices.of(newest);
        told = newest;
        return back == null ? restored : restored == null ? back : back + restored;
    }

    /** A tool is about to run in this session's sandbox. Must be followed by {@link #toolEnded}. */
    synchronized void toolStarts(RunningTool tool) {
        running.add(tool);
    }

    /** Whether tools of other calls run in this session's sandbox. */
    synchronized boolean isSharedBeside(ProtectedInvocation invocation) {
        return running.stream().anyMatch(tool -> tool.invocation() != invocation);
    }

    /** Whether tools of that call run. */
    synchronized boolean isRunning(ProtectedInvocation invocation) {
        return running.stream().anyMatch(tool -> tool.invocation() == invocation);
    }

    /** The sandbox was changed by a thread that is none of a tool's: by any of those that run. */
    synchronized void sandboxUsedByAll() {
        running.forEach(RunningTool::sandboxUsed);
    }

    /**
     * A tool is over.
     *
     * @param recorded whether its result is in the journal; if not, what it did in the sandbox belongs to nothing that could be taken up
     */
    synchronized void toolEnded(RunningTool tool, boolean recorded) {
        running.remove(tool);
        tainted |= !recorded;
        notifyAll();
    }

    /** What the sandbox holds is not what the journal says: the next call finds it put back to its last commit. */
    synchronized void taint() {
        tainted = true;
    }

    /** Whether the sandbox holds what no record tells of, so that it must not be saved. Never waits: asked under the coordinator's lock. */
    boolean isTainted() {
        return tainted;
    }

    /**
     * Commits what is open and frees the sandbox until it is used again.
     *
     * @return whether that is done: not if tools run in it, or if what is in it cannot be committed
     */
    boolean park() {
        OpenSession current;
        synchronized (this) {
            current = open;
            if (current == null) {
                return true;
            }
            if (tainted && running.isEmpty()) {
                close(); // and is put back to its last commit by that
                return true;
            }
            if (tainted) {
                return false;
            }
        }
        return current.turns().park(JsonNodeFactory.instance.objectNode().put("parked", true));
    }

    /**
     * Puts the sandbox back to its last commit if a tool ran in it whose result was not recorded: the same call, made again, runs that
     * tool again, and must find the sandbox as it was before it. Waits for tools that still run in it, and in any case for those whose
     * call has failed meanwhile, since they would run twice at once; a call from within one of them does not, since that tool's own call
     * is what comes back to be made again.
     *
     * @throws CrabException INTERRUPTED, or what opening the session throws
     */
    synchronized void putBack() {
        RunningTool caller = RunningTool.current();
        if (caller != null && running.contains(caller)) {
            return;
        }
        try {
            while ((tainted && !running.isEmpty()) || running.stream().anyMatch(RunningTool::isLeftOver)) {
                wait();
            }
        } catch (InterruptedException e) {
            throw CrabException.interrupted("waiting for the tools of session " + id, e);
        }
        if (tainted) {
            LOG.info("Session {}: a tool's result was not recorded; the sandbox goes back to its last commit", id);
            close();
            open();
        }
    }

    /**
     * The JVM is about to end: no further turn begins.
     *
     * @param patienceNanos how long to wait at most for the open turn to be committed
     * @return whether nothing is left open
     */
    boolean leave(long patienceNanos) {
        OpenSession current;
        synchronized (this) {
            current = open;
        }
        return current == null || current.turns().leave(patienceNanos);
    }

    synchronized void close() {
        tainted = false;
        OpenSession current = open;
        open = null;
        if (current != null) {
            current.close();
        }
    }
}
