package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
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
     * The committed turns that count, oldest first.
     *
     * @throws dev.crab.runtime.error.CrabException JOURNAL_CORRUPT, IO_FAILED; STATE_INVALID where a session keeps no checkpoints
     */
    default List<TurnInfo> turns() {
        throw withoutCheckpoints("its turns be listed");
    }

    /**
     * Goes back to a turn: files, processes, what is carried by value and the count of turns are those of its commit, and the turns after
     * it are void for good. The sandbox that ran until now ends, with whatever runs in it; an open turn ends with it. {@link #sandbox}
     * stays valid and leads to the other one; shells on terminals that were opened before do not.
     *
     * <p>A crash at any instant leaves the session at the newest turn or at this one, whole. If anything fails the session is as before.
     *
     * @param turn a turn of {@link #turns}, or 0 for the image as it came; the newest one undoes what has not been committed
     * @param note why, for the journal; may be empty
     * @throws dev.crab.runtime.error.CrabException TURN_UNKNOWN; TURN_NOT_KEPT; what restoring a turn can throw; STATE_INVALID if the
     *     session is closed; DISK_FULL, IO_FAILED
     */
    default Rollback rollbackTo(long turn, String note) {
        throw withoutCheckpoints("it go back");
    }

    /** As {@link #rollbackTo(long, String)}, with nothing noted. */
    default Rollback rollbackTo(long turn) {
        return rollbackTo(turn, "");
    }

    /** How many turns it could go back to at once, since a sandbox is parked for each ({@link StandbyPolicy}). */
    default int standbys() {
        return 0;
    }

    /**
     * Makes sessions that begin where this one was at a turn, each with a sandbox of its own that runs, a journal of its own that holds
     * what this one's held then, and checkpoints of its own; they share what is stored, and cost their differences. This session is not
     * touched. Each of them is whole or is not there, whenever a crash comes; if one cannot be made none is.
     *
     * @param turn a turn of {@link #turns} that is kept; or 0, the image as it came
     * @param names of the new sessions, none of which may exist
     * @return the sessions, open, in that order; the caller closes them
     * @throws dev.crab.runtime.error.CrabException TURN_UNKNOWN; TURN_NOT_KEPT; NAME_INVALID; NAME_TAKEN; what restoring a turn can
     *     throw; STATE_INVALID if the session is closed; DISK_FULL, IO_FAILED
     */
    default List<SandboxSession> branch(long turn, List<String> names) {
        throw withoutCheckpoints("be branched");
    }

    /** As {@link #branch(long, List)}, with the first free ones of the names {@code <session>-b1}, {@code <session>-b2} and so on. */
    default List<SandboxSession> branch(long turn, int count) {
        throw withoutCheckpoints("be branched");
    }

    /**
     * What differs between two turns.
     *
     * @param from a turn of {@link #turns} that is kept, or 0 for the image as it came
     * @param to another one, older or newer
     * @throws dev.crab.runtime.error.CrabException TURN_UNKNOWN; TURN_NOT_KEPT; MANIFEST_CORRUPT, OBJECT_CORRUPT, IO_FAILED
     */
    default TurnDiff diff(long from, long to) {
        throw withoutCheckpoints("its turns be compared");
    }

    /**
     * Gives a turn a name, by which it can be found, and which keeps it: its checkpoint is not deleted when newer ones come. A name that
     * another turn has goes over to this one.
     *
     * @param turn a turn of {@link #turns}
     * @param label 1 to 64 printable characters, not only digits; null takes the turn's label away
     * @throws dev.crab.runtime.error.CrabException TURN_UNKNOWN; NAME_INVALID; DISK_FULL, IO_FAILED
     */
    default void label(long turn, @Nullable String label) {
        throw withoutCheckpoints("its turns be named");
    }

    private CrabException withoutCheckpoints(String what) {
        return CrabException.of(
                ErrorCode.STATE_INVALID,
                "session " + id() + " cannot: " + what,
                "it keeps no checkpoints of a sandbox",
                "open it where there is one");
    }

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
