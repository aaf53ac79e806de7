package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.EffectReason;
import dev.crab.runtime.inspector.TurnEffects;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.Admission;
import dev.crab.runtime.session.Commit;
import dev.crab.runtime.session.Rollback;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.Journal;
import dev.crab.runtime.store.JournalRecord;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A session without a sandbox over a real journal, for tests of what surrounds a commit. */
final class JournalSession implements SandboxSession {
    final AtomicReference<@Nullable CrabException> nextCommitFails = new AtomicReference<>();
    final List<String> calls = new ArrayList<>();
    volatile Runnable duringCommit = () -> {};
    /** Runs when a rollback is recorded, before it is done. */
    volatile Runnable duringRollback = () -> {};

    volatile Effect effect = Effect.FILES;

    private final Path directory;
    private final String id;
    private final FileJournal journal;
    private final Recovery recovery;
    private @Nullable Commit last;
    private boolean open;
    private boolean parked;

    JournalSession(Path directory) {
        this(directory, Long.MAX_VALUE);
    }

    /** Back at that turn, because later ones did not come back. */
    JournalSession(Path directory, long newest) {
        this(directory, newest, "test");
    }

    /** A session of another name with all that a journal holds, as a branch has it. */
    static JournalSession branch(Path parent, Path directory, String name) throws IOException {
        Files.createDirectory(directory);
        try (FileJournal journal = FileJournal.open(directory)) {
            FileJournal.read(parent).forEach(entry -> journal.append(entry.kind(), entry.body()));
        }
        return new JournalSession(directory, Long.MAX_VALUE, name);
    }

    private JournalSession(Path directory, long newest, String id) {
        this.directory = directory;
        this.id = id;
        journal = FileJournal.open(directory);
        TreeMap<Long, Commit> commits = new TreeMap<>();
        for (JournalRecord entry : journal.recovered()) {
            if (entry.kind().equals("rollback")) {
                long turn = entry.body().path("turn").asLong();
                last = commits.get(turn);
                commits.tailMap(turn, false).clear();
            } else if (entry.kind().equals("commit")
                    && entry.body().path("turn").asLong() <= newest) {
                last = commit(entry.body().path("turn").asLong(), (ObjectNode)
                        entry.body().path("position"));
                commits.put(last.turn(), last);
            }
        }
        Commit restored = last;
        recovery = restored == null ? new Recovery.Fresh() : new Recovery.Restored(restored, 0, 0, List.of());
    }

    private static Commit commit(long turn, ObjectNode position) {
        return new Commit(turn, turn, 0, turn, Effect.FILES, position);
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Sandbox sandbox() {
        return (Sandbox) Proxy.newProxyInstance(
                Sandbox.class.getClassLoader(), new Class<?>[] {Sandbox.class}, (self, method, arguments) -> {
                    throw new UnsupportedOperationException("there is none");
                });
    }

    @Override
    public Recovery recovery() {
        return recovery;
    }

    @Override
    public @Nullable Commit lastCommit() {
        return last;
    }

    /** Bytes of the journal that a power cut would take. */
    long unflushed() {
        try {
            return Files.size(directory.resolve("journal")) - journal.durableLength();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Journal journal() {
        return journal;
    }

    @Override
    public synchronized Turn beginTurn() {
        if (open) {
            throw new IllegalStateException("turns overlap");
        }
        open = true;
        parked = false;
        long number = last == null ? 1 : last.turn() + 1;
        calls.add("begin " + number);
        return new Turn() {
            @Override
            public long number() {
                return number;
            }

            @Override
            public TurnOutcome commit(ObjectNode position, Admission admission) {
                try {
                    return committed(position, admission);
                } finally {
                    admission.release(100);
                }
            }

            private TurnOutcome committed(ObjectNode position, Admission admission) {
                long captureWait = effect == Effect.NONE ? 0 : admission.awaitCapture(effect);
                duringCommit.run();
                long persistWait = effect == Effect.NONE ? 0 : admission.awaitPersist(0);
                CrabException fails = nextCommitFails.getAndSet(null);
                if (fails != null) {
                    throw fails;
                }
                ObjectNode body = JsonNodeFactory.instance.objectNode().put("turn", number);
                body.set("position", position);
                journal.append("commit", body);
                Commit commit = JournalSession.commit(number, position);
                synchronized (JournalSession.this) {
                    last = commit;
                    open = false;
                    calls.add("commit " + number);
                }
                List<EffectReason> reasons =
                        effect == Effect.NONE ? List.of() : List.of(new EffectReason("test", effect, List.of("/x")));
                return new TurnOutcome(
                        commit,
                        TurnEffects.of(reasons),
                        TurnOutcome.Saved.FILES,
                        100,
                        5,
                        captureWait,
                        20,
                        10,
                        persistWait,
                        30);
            }

            @Override
            public void abandon() {
                synchronized (JournalSession.this) {
                    open = false;
                    calls.add("abandon " + number);
                }
            }
        };
    }

    @Override
    public synchronized void park() {
        if (open) {
            throw new IllegalStateException("parked in the middle of a turn");
        }
        parked = true;
        calls.add("park");
    }

    @Override
    public synchronized boolean isParked() {
        return parked;
    }

    @Override
    public Rollback rollbackTo(long turn, String note) {
        synchronized (this) {
            open = false;
            Commit target = null;
            for (JournalRecord entry : FileJournal.read(directory)) {
                if (entry.kind().equals("commit") && entry.body().path("turn").asLong() == turn) {
                    target = commit(turn, (ObjectNode) entry.body().path("position"));
                }
            }
            last = target;
            journal.append(
                    "rollback",
                    JsonNodeFactory.instance
                            .objectNode()
                            .put("turn", turn)
                            .put("asked", true)
                            .put("note", note));
            duringRollback.run();
            return new Rollback(turn, target, 0, 0, false, 0, 0);
        }
    }

    @Override
    public void close() {
        journal.close();
    }
}
