package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.TurnEffects;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.Admission;
import dev.crab.runtime.session.Commit;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.Journal;
import dev.crab.runtime.store.JournalRecord;
import dev.crab.runtime.store.StoreLock;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A session where sandboxes cannot be had: a journal, so that chat and recorded tool results come back after a crash, and a sandbox whose
 * every use says what is missing. It lies in {@code chats/} of the data directory, apart from the sessions that have one.
 *
 * <p>With no sandbox to put back, a crash undoes nothing: whatever result is recorded stands.
 */
final class ChatOnlySession implements SandboxSession {
    /** What a Linux host or its user may lack for good; anything else is a fault, and refused as such. */
    private static final Set<ErrorCode> LACKS = EnumSet.of(
            ErrorCode.NOT_ROOT,
            ErrorCode.BTF_MISSING,
            ErrorCode.BPF_REFUSED,
            ErrorCode.LIBBPF_MISSING,
            ErrorCode.CRIU_MISSING,
            ErrorCode.CRIU_UNUSABLE,
            ErrorCode.RUNC_MISSING,
            ErrorCode.CGROUP_V2_MISSING);

    private static final String COMMIT = "commit";
    private static final String WATERMARK = "watermark";

    private final String id;
    private final StoreLock lock;
    private final FileJournal journal;
    private final Recovery recovery;
    private final Sandbox sandbox;
    private @Nullable Commit last;
    private @Nullable ChatTurn open;
    private boolean closed;

    private ChatOnlySession(String id, StoreLock lock, FileJournal journal, CrabException missing) {
        this.id = id;
        this.lock = lock;
        this.journal = journal;
        List<JournalRecord> records = journal.recovered();
        long turns = 0;
        for (JournalRecord entry : records) {
            if (entry.kind().equals(COMMIT)) {
                turns = entry.body().path("turn").asLong();
                last = commit(turns, (ObjectNode) entry.body().path("position"));
            }
        }
        recovery = records.isEmpty()
                ? new Recovery.Fresh()
                : new Recovery.Restored(
                        commit(
                                turns,
                                JsonNodeFactory.instance
                                        .objectNode()
                                        .put(
                                                WATERMARK,
                                                records.get(records.size() - 1).sequence())),
                        0,
                        0,
                        List.of());
        sandbox = refusing(id, missing);
    }

    /** Whether that failure to open a session means that this host or user can have no sandbox. */
    static boolean isLack(CrabException e) {
        return LACKS.contains(e.code());
    }

    /** Whether a session of that name was ever opened without a sandbox. */
    static boolean exists(Path data, String id) {
        return Files.isDirectory(new DataDirectory(data).chat(id), LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * Opens it, or makes it.
     *
     * @param missing why there is no sandbox
     * @throws CrabException NAME_INVALID; DATA_DIRECTORY_UNUSABLE; SESSION_LOCKED; JOURNAL_CORRUPT; {@code missing} itself if the session
     *     has a sandbox
     */
    static ChatOnlySession open(Path data, String id, CrabException missing) {
        DataDirectory place = new DataDirectory(data).prepare();
        if (Files.exists(place.session(id), LinkOption.NOFOLLOW_LINKS)) {
            throw missing; // its chat belongs together with its sandbox
        }
        Path directory = place.makeChat(id);
        StoreLock lock = StoreLock.acquire(directory.resolve("lock"), id);
        boolean done = false;
        try {
            ChatOnlySession session = new ChatOnlySession(id, lock, FileJournal.open(directory), missing);
            done = true;
            return session;
        } finally {
            if (!done) {
                lock.close();
            }
        }
    }

    private static Commit commit(long turn, ObjectNode position) {
        return new Commit(turn, 0, 0, 0, Effect.NONE, position);
    }

    private static Sandbox refusing(String id, CrabException missing) {
        return (Sandbox) Proxy.newProxyInstance(
                Sandbox.class.getClassLoader(), new Class<?>[] {Sandbox.class}, (proxy, method, arguments) -> {
                    return switch (method.getName()) {
                        case "id" -> id;
                        case "toString" -> "no sandbox: " + missing.code();
                        case "hashCode" -> System.identityHashCode(proxy);
                        case "equals" -> proxy == arguments[0];
                        default ->
                            throw CrabException.of(
                                    missing.code(),
                                    "session " + id + " has no sandbox",
                                    missing.what() + ": " + missing.why(),
                                    missing.cure(),
                                    missing);
                    };
                });
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Sandbox sandbox() {
        return sandbox;
    }

    @Override
    public Recovery recovery() {
        return recovery;
    }

    @Override
    public synchronized @Nullable Commit lastCommit() {
        return last;
    }

    @Override
    public Journal journal() {
        return journal;
    }

    @Override
    public synchronized Turn beginTurn() {
        if (closed || open != null) {
            throw CrabException.of(
                    ErrorCode.STATE_INVALID,
                    "a turn of session " + id + " cannot begin",
                    closed ? "the session is closed" : "another one is neither committed nor abandoned",
                    "end each turn by commit or abandon before the next begins");
        }
        Commit before = last;
        ChatTurn turn = new ChatTurn(before == null ? 1 : before.turn() + 1);
        open = turn;
        return turn;
    }

    @Override
    public synchronized void park() {
        if (closed || open != null) {
            throw CrabException.of(
                    ErrorCode.STATE_INVALID,
                    "session " + id + " cannot be parked",
                    closed ? "it is closed" : "a turn is neither committed nor abandoned",
                    "commit the turn, then park");
        }
    }

    @Override
    public boolean isParked() {
        return false;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            try (lock) {
                journal.close();
            }
        }
    }

    private synchronized void ended(@Nullable Commit commit) {
        open = null;
        if (commit != null) {
            last = commit;
        }
    }

    private final class ChatTurn implements Turn {
        private final long number;

        ChatTurn(long number) {
            this.number = number;
        }

        @Override
        public long number() {
            return number;
        }

        @Override
        public TurnOutcome commit(ObjectNode position, Admission admission) {
            long began = System.nanoTime();
            long bytes = 0;
            try {
                ObjectNode body = JsonNodeFactory.instance
                        .objectNode()
                        .put("version", 1)
                        .put("turn", number)
                        .put("at", System.currentTimeMillis());
                body.set("position", position);
                bytes = journal.appendMeasured(COMMIT, body).bytes();
                Commit commit = ChatOnlySession.commit(number, position);
                ended(commit);
                return new TurnOutcome(
                        commit,
                        TurnEffects.of(List.of()),
                        TurnOutcome.Saved.NOTHING,
                        bytes,
                        0,
                        0,
                        0,
                        System.nanoTime() - began);
            } finally {
                admission.release(bytes);
            }
        }

        @Override
        public void abandon() {
            ended(null);
        }
    }
}
