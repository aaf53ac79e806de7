package dev.crab.langchain4j;

import dev.crab.overlap.RolledBack;
import dev.crab.overlap.TurnReport;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.TurnInfo;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Crab's face to a LangChain4j program. Thread-safe.
 *
 * <pre>{@code
 * Coder coder = AiServices.builder(Coder.class).chatModel(model).tools(new SandboxTools(Crab.sandbox("ticket-42"))).build();
 * coder.chat("Fix the failing test");   // killed? run the same program again: it goes on
 * }</pre>
 *
 * <p>Which calls of AI services are protected, and by which session: the first of
 *
 * <ol>
 *   <li>the session whose scope ({@link #session}, {@link #run}) the calling thread is in; a tool that calls an AI service passes its own
 *       session on, and {@link CrabOptions.Builder#serviceSession} goes before the scope;
 *   <li>the session named like the call's {@code @MemoryId}, if the program has named such a session here;
 *   <li>the session that {@code crab.session} names ({@code default} if it does not), if the program has named it here;
 *   <li>the only session that the program has named here ({@link #sandbox}, {@link #session}, {@link #run}, {@link #namedRun}), if the AI
 *       service has tools and the call has no {@code @MemoryId}. An AI service stays with it when others are named later.
 * </ol>
 *
 * On a thread in no scope, such a call joins the durable run of that session, and one of an agentic system the only run that is open.
 * Any other call is left alone, and costs nothing. A tool that uses a sandbox whose session does not protect it is refused, so a call
 * cannot go unprotected unnoticed.
 */
public final class Crab {
    private static final Object LOCK = new Object();
    private static final Object CLOSING = new Object();
    private static volatile @Nullable SessionHub hub;

    private Crab() {}

    /**
     * Sets the options; before anything else of this class is used, or after {@link #close()}.
     *
     * @throws CrabException CONFIG_INVALID if Crab is in use already, or a setting has no meaning
     */
    public static void configure(CrabOptions options) {
        synchronized (LOCK) {
            SessionHub current = hub;
            if (current != null && current.isInUse()) {
                throw CrabException.of(
                        ErrorCode.CONFIG_INVALID,
                        "Crab cannot be configured now",
                        "sessions have been named already",
                        "configure it first, or call Crab.close() before");
            }
            hub = new SessionHub(options);
        }
    }

    /** The sandbox of the session that {@code crab.session} names. */
    public static Sandbox sandbox() {
        return sandbox(hub().config().session());
    }

    /**
     * The sandbox of a session. The session is opened, and brought back from its last commit if it exists, when the sandbox is first used.
     *
     * @param sessionId 1 to 63 characters of {@code [a-z0-9_-]}, the first of {@code [a-z0-9]}
     * @throws CrabException INTERCEPTOR_INACTIVE if LangChain4j would not call Crab; the methods of the sandbox throw what opening a
     *     session throws
     */
    public static Sandbox sandbox(String sessionId) {
        return hub().named(sessionId, null).handle();
    }

    /**
     * As {@link #sandbox(String)}; a sandbox that is made anew is like that, wherever else the session is named without a specification.
     *
     * @throws CrabException also CONFIG_INVALID if the session was named with another specification, or is open with another one
     */
    public static Sandbox sandbox(String sessionId, SandboxSpec spec) {
        return hub().named(sessionId, spec).handle();
    }

    /** Enters the scope of a session on this thread. */
    public static CrabSession session(String sessionId) {
        return CrabSession.enter(hub().named(sessionId, null), null);
    }

    /** As {@link #session(String)}; a sandbox that is made anew is like that: see {@link #sandbox(String, SandboxSpec)}. */
    public static CrabSession session(String sessionId, SandboxSpec spec) {
        return CrabSession.enter(hub().named(sessionId, spec), null);
    }

    /** Enters the session's unfinished durable run on this thread, or a new one if the last was completed. Opens the session. */
    public static CrabSession run(String sessionId) {
        return run(hub().named(sessionId, null));
    }

    /** As {@link #run(String)}; a sandbox that is made anew is like that: see {@link #sandbox(String, SandboxSpec)}. */
    public static CrabSession run(String sessionId, SandboxSpec spec) {
        return run(hub().named(sessionId, spec));
    }

    private static CrabSession run(SessionEntry entry) {
        return CrabSession.enter(entry, entry.open().turns().replay().currentRun());
    }

    /**
     * Enters the durable run of that name on this thread. Opens the session. A run that was completed stays so: its invocations are
     * replayed no more, and calling it again is refused.
     *
     * @param runId anything but a plain number, which are the names of runs without one
     * @throws CrabException NAME_TAKEN if that run was completed; NAME_INVALID if it is a number
     */
    public static CrabSession namedRun(String sessionId, String runId) {
        if (runId.isEmpty() || runId.chars().allMatch(Character::isDigit)) {
            throw CrabException.of(
                    ErrorCode.NAME_INVALID,
                    "the run \"" + runId + "\" cannot be entered",
                    "numbers name the runs that have no name",
                    "put a letter into it");
        }
        SessionEntry entry = hub().named(sessionId, null);
        if (entry.open().turns().replay().isRunComplete(runId)) {
            throw CrabException.of(
                    ErrorCode.NAME_TAKEN,
                    "the run " + runId + " cannot be entered",
                    "it is complete",
                    "choose another name for what is to be done now");
        }
        return CrabSession.enter(entry, runId);
    }

    /** Reports of all turns of a session, those before a crash included, oldest first. Opens the session. */
    public static List<TurnReport> reports(String sessionId) {
        return hub().entry(sessionId, null).open().turns().reports();
    }

    /** The committed turns of a session that count, oldest first. Opens the session. */
    public static List<TurnInfo> turns(String sessionId) {
        return hub().entry(sessionId, null).open().session().turns();
    }

    /**
     * Goes back to a turn, sandbox and chat alike. The next call of an AI service finds the chat memory as it was then; a call that had no
     * answer then, made again, goes on from that turn, and the model is asked anew. One that is under way meanwhile, in another thread,
     * fails with STATE_INVALID. Opens the session.
     *
     * @param turn one of {@link #turns}, or 0 for before the first
     * @return also what tools did outside the sandbox since, which nothing undoes
     * @throws CrabException TURN_UNKNOWN; TURN_NOT_KEPT; STATE_INVALID while a tool of the session runs; what restoring can throw. Then all
     *     is as before
     */
    public static RolledBack rollback(String sessionId, long turn) {
        return hub().entry(sessionId, null).rollback(turns -> turns.rollbackTo(turn, ""));
    }

    /**
     * As {@link #rollback(String, long)}, and the model is told with the next result of a tool, also in a program that is started later.
     *
     * @param note why, in a few words, for the model and for the journal; empty: the model is not told
     */
    public static RolledBack rollback(String sessionId, long turn, String note) {
        return hub().entry(sessionId, null).rollback(turns -> turns.rollbackTo(turn, note));
    }

    /**
     * Makes sessions that begin where one was at a turn, sandbox and chat alike, and opens them. In each, a call that had no answer then
     * goes on from that turn by itself, if it is made again in the scope of that session ({@link #session(String)}), with an AI service
     * whose chat memory is not shared with the others.
     *
     * @return their names: {@code <session>-b1} and so on
     * @throws CrabException TURN_UNKNOWN; TURN_NOT_KEPT; NAME_INVALID; what restoring can throw. Then there is none of them
     */
    public static List<String> branch(String sessionId, long turn, int count) {
        SessionHub current = hub();
        return current.branch(current.entry(sessionId, null), session -> session.branch(turn, count));
    }

    /**
     * The key of the tool call that this thread is in: the same whenever the call runs again after a crash, another for every other call,
     * of other sessions and branches too. For tools whose effect lies outside and can be made idempotent by a key. Empty outside a protected
     * tool.
     *
     * @throws CrabException DISK_FULL, IO_FAILED; a session's first key is made durable
     */
    public static Optional<String> idempotencyKey() {
        RunningTool tool = RunningTool.current();
        return tool == null ? Optional.empty() : Optional.ofNullable(tool.idempotencyKey());
    }

    /**
     * Waits for an answer that may take hours, of a person for instance. Inside a protected tool that has not used the sandbox before, the
     * session is parked after {@code crab.park-after} seconds: everything so far is committed and the sandbox destroyed, so that it takes
     * neither memory nor processor; it comes back when the answer is there. The session stays this program's (its lock is kept). If the
     * program dies meanwhile, the same call, made again, comes back to this tool, which asks again.
     *
     * <pre>{@code
     * @Tool("Asks the user for approval")
     * String approve(String plan) {
     *     String question = Crab.idempotencyKey().orElseThrow();     // the same after a crash
     *     desk.ask(question, plan);                                  // does nothing if it was asked already
     *     return Crab.await(() -> desk.answer(question));
     * }
     * }</pre>
     *
     * @param answer the answer if it is there. Asked at once, again whenever {@link #resume} is called, and every five seconds; may also
     *     block by itself
     * @throws CrabException INTERRUPTED; STATE_INVALID if Crab is closed or the session goes back meanwhile; what restoring can throw
     */
    public static <T> T await(Supplier<Optional<T>> answer) {
        RunningTool tool = RunningTool.current();
        ProtectedInvocation invocation = tool == null ? null : tool.invocation();
        SessionHub current = invocation == null ? hub() : invocation.entry().hub();
        String key = tool == null ? null : tool.key();
        if (tool == null || invocation == null || key == null) {
            return current.await(answer);
        }
        return PatientWait.run(
                invocation.entry(),
                invocation.replay(),
                tool,
                tool.effect(),
                key,
                current.config().parkAfter(),
                () -> current.await(answer));
    }

    /**
     * What a tool throws to stop the run until there is an answer, as {@code throw Crab.suspend("waiting for Ada")}: everything so far is
     * committed, the session parked, and the AI service's caller gets this error ({@code SESSION_PARKED}). The same call, made again by this
     * program or, once this one has ended or called {@link #close(String)}, by another, comes back to this tool. A tool that has used the
     * sandbox before it throws this is undone, with its turn.
     */
    public static CrabError suspend(String why) {
        return new CrabError(UnknownEffects.parked(why));
    }

    /**
     * Commits what was done in a session and frees its sandbox until it is used again. The session stays this program's until
     * {@link #close(String)} or its end.
     *
     * @return whether the sandbox is gone; not if a tool runs in it: then it goes when that ends
     * @throws CrabException INTERRUPTED; what opening a turn can throw
     */
    public static boolean park(String sessionId) {
        SessionEntry entry = hub().known(sessionId);
        return entry == null || entry.park();
    }

    /**
     * Brings a session back that was parked, here or by a program that has ended, and lets every {@link #await} of this program look for its
     * answer at once. Not needed before the same call is made again, which does the same.
     *
     * @throws CrabException SESSION_UNKNOWN if there is no such session; SESSION_LOCKED while another program has it; what restoring can throw
     */
    public static void resume(String sessionId) {
        SessionHub current = hub();
        current.ensureExists(sessionId);
        current.resumed();
        current.entry(sessionId, null).open().session().sandbox();
    }

    /** Destroys a session's running sandbox and releases the session. What was committed stays; using it again brings it back. */
    public static void close(String sessionId) {
        SessionHub current = hub;
        if (current != null) {
            current.close(sessionId);
        }
    }

    /**
     * As {@link #close(String)} for all sessions, and forgets the options. Also runs when the JVM exits. Idempotent. Meanwhile what needs a
     * sandbox is refused; while the JVM exits, this waits for the tools that run, for {@code crab.shutdown-wait} seconds at most.
     */
    public static void close() {
        // Not under LOCK: what is waited for here asks for the hub itself. One after the other: the second must not be
        // quicker.
        synchronized (CLOSING) {
            SessionHub current = hub;
            if (current == null) {
                return;
            }
            current.close();
            synchronized (LOCK) {
                if (hub == current) {
                    hub = null;
                }
            }
        }
    }

    static SessionHub hub() {
        SessionHub current = hub;
        if (current == null) {
            synchronized (LOCK) {
                current = hub;
                if (current == null) {
                    current = new SessionHub(CrabOptions.builder().build());
                    hub = current;
                }
            }
        }
        return current;
    }
}
