package dev.crab.runtime.session;

import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.store.Journal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One sandbox's timeline: a sequence of turns, each of which ends in a commit, and a journal beside it. Owned by one process at a time.
 *
 * <p>Thread-safe; but turns do not overlap: {@link #beginTurn} fails while another turn is neither committed nor abandoned.
 */
public interface SandboxSession extends AutoCloseable {
    String id();

    /**
     * The running sandbox, in the state of the last commit when the session was opened. Brings it back if the session is parked; one that
     * was got before is of no use then.
     *
     * @throws dev.crab.runtime.error.CrabException of a parked session, what restoring can throw; it stays parked then
     */
    Sandbox sandbox();

    /** How this session came to be where it is: opened, or brought back since it was parked last. */
    Recovery recovery();

    /** The newest commit; null until the first turn has committed. */
    @Nullable
    Commit lastCommit();

    /** The session's journal: the layers above append their own kinds of record and read back what was there when it was opened. */
    Journal journal();

    /**
     * Starts a turn: from here on tools may run.
     *
     * @throws dev.crab.runtime.error.CrabException STATE_INVALID if a turn is open or the session is closed; of a parked session, what
     *     restoring can throw
     */
    Turn beginTurn();

    /**
     * Destroys the running sandbox, so that it takes neither memory nor processor, and keeps the session with its lock and journal. The next
     * {@link #sandbox} or {@link #beginTurn} brings the sandbox back as it was at the last commit; what was done since is undone. Idempotent;
     * of a session that has no sandbox, nothing happens.
     *
     * @throws dev.crab.runtime.error.CrabException STATE_INVALID if a turn is open or the session is closed
     */
    void park();

    /** Whether it is parked; false for a session that has no sandbox. */
    boolean isParked();

    /**
     * Destroys the running sandbox and releases the session. What was committed stays in the store: opening the session again restores
     * it. Idempotent.
     */
    @Override
    void close();

    /** How a session was opened. */
    sealed interface Recovery {
        /** It was new. */
        record Fresh() implements Recovery {}

        /**
         * It had commits, and the sandbox was brought back to the last of them that could be, and verified.
         *
         * @param commit the commit that the sandbox was put back to
         * @param processesRestored processes that came back from a dump; 0 if pid 1 was started afresh on the restored files
         * @param restoreMillis from opening to the sandbox being verified and running
         * @param verifyNanos the part of it, in nanoseconds, that compared files, processes and memory with what was saved
         * @param lost what could not be captured and is therefore gone, for reading; empty unless the session ran unprotected
         * @param restarted processes that could not be captured and were started again, without what they had in memory, for reading
         * @param skipped why newer turns than this one could not be brought back, newest first, for reading; empty if it is the newest. Those of an
         *     earlier opening are named again until a turn is committed
         */
        record Restored(
                Commit commit,
                int processesRestored,
                long restoreMillis,
                long verifyNanos,
                List<String> lost,
                List<String> restarted,
                List<String> skipped)
                implements Recovery {
            public Restored {
                lost = List.copyOf(lost);
                restarted = List.copyOf(restarted);
                skipped = List.copyOf(skipped);
            }

            /** Brought back to the newest commit, with nothing started again and verified in no time. */
            public Restored(Commit commit, int processesRestored, long restoreMillis, List<String> lost) {
                this(commit, processesRestored, restoreMillis, 0, lost, List.of(), List.of());
            }
        }
    }
}
