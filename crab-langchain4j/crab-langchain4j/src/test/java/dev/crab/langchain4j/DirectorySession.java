package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.TurnEffects;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.FileEntry;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.Admission;
import dev.crab.runtime.session.Commit;
import dev.crab.runtime.session.Rollback;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnInfo;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.Journal;
import dev.crab.runtime.store.JournalRecord;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A session for tests of replay and turns alone: a real journal, and for a sandbox a directory that is copied at every commit and copied
 * back on opening. Commands run on the host in that directory.
 */
final class DirectorySession implements SandboxSession {
    /** Thrown by the next commit instead of committing. */
    final AtomicReference<@Nullable CrabException> nextCommitFails = new AtomicReference<>();
    /** Runs inside every commit. */
    volatile Runnable duringCommit = () -> {};
    /** How often it was parked: the directory is put back to the last commit at once. */
    final AtomicInteger parks = new AtomicInteger();

    private volatile boolean parked;

    private final String id;
    private final Path root;
    private final FileJournal journal;
    private final Recovery recovery;
    private final Sandbox sandbox;
    private volatile @Nullable Commit last;
    private final List<Commit> commits = new ArrayList<>();
    private @Nullable DirectoryTurn open;

    static DirectorySession open(Path data, String id) {
        try {
            Path root = data.resolve(id);
            Files.createDirectories(root);
            return new DirectorySession(id, root, FileJournal.open(root));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private DirectorySession(String id, Path root, FileJournal journal) {
        this.id = id;
        this.root = root;
        this.journal = journal;
        for (JournalRecord record : journal.recovered()) {
            ObjectNode body = record.body();
            if (record.kind().equals("rollback")) {
                back(body.path("turn").asLong());
            } else if (record.kind().equals("commit")) {
                committed(new Commit(
                        body.path("turn").asLong(),
                        body.path("turn").asLong(),
                        0,
                        body.path("turn").asLong(),
                        Effect.FILES,
                        (ObjectNode) body.path("position")));
            }
        }
        putBack();
        Commit commit = last;
        recovery = commit == null ? new Recovery.Fresh() : new Recovery.Restored(commit, 0, 0, List.of());
        sandbox = new DirectorySandbox(id, live());
    }

    private synchronized void committed(Commit commit) {
        last = commit;
        commits.add(commit);
    }

    private synchronized void back(long turn) {
        commits.subList((int) turn, commits.size()).clear();
        last = turn == 0 ? null : commits.get((int) turn - 1);
    }

    @Override
    public synchronized List<TurnInfo> turns() {
        return commits.stream()
                .map(commit -> new TurnInfo(commit, TurnOutcome.Saved.FILES, null, true, 0))
                .toList();
    }

    @Override
    public synchronized Rollback rollbackTo(long turn, String note) {
        int isVoid = commits.size() - (int) turn;
        FaultPoints.reach("rollback.before");
        journal.append(
                "rollback",
                JsonNodeFactory.instance
                        .objectNode()
                        .put("turn", turn)
                        .put("asked", true)
                        .put("note", note));
        FaultPoints.reach("rollback.recorded");
        back(turn);
        open = null;
        parked = false;
        putBack();
        return new Rollback(turn, last, isVoid, 0, false, 0, 0);
    }

    private void putBack() {
        Commit commit = last;
        delete(live());
        if (commit == null) {
            live().toFile().mkdirs();
        } else {
            copy(root.resolve("turn-" + commit.turn()), live());
        }
    }

    private Path live() {
        return root.resolve("live");
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Sandbox sandbox() {
        parked = false;
        return sandbox;
    }

    @Override
    public Recovery recovery() {
        return recovery;
    }

    @Override
    public @Nullable Commit lastCommit() {
        return last;
    }

    @Override
    public Journal journal() {
        return journal;
    }

    @Override
    public synchronized Turn beginTurn() {
        if (open != null) {
            throw new IllegalStateException("turns overlap");
        }
        Commit commit = last;
        parked = false;
        DirectoryTurn turn = new DirectoryTurn(commit == null ? 1 : commit.turn() + 1);
        open = turn;
        return turn;
    }

    @Override
    public synchronized void park() {
        if (open != null || last == null) {
            throw new IllegalStateException("parked in the middle of a turn, or before the first");
        }
        putBack();
        parks.incrementAndGet();
        parked = true;
    }

    @Override
    public boolean isParked() {
        return parked;
    }

    @Override
    public void close() {
        journal.close();
    }

    private final class DirectoryTurn implements Turn {
        private final long number;

        DirectoryTurn(long number) {
            this.number = number;
        }

        @Override
        public long number() {
            return number;
        }

        @Override
        public TurnOutcome commit(ObjectNode position, Admission admission) {
            try {
                admission.awaitCapture(Effect.FILES);
                return commit(position);
            } finally {
                admission.release(1);
            }
        }

        @Override
        public TurnOutcome commit(ObjectNode position) {
            FaultPoints.reach("turn.boundary");
            duringCommit.run();
            CrabException fails = nextCommitFails.getAndSet(null);
            if (fails != null) {
                throw fails;
            }
            Path target = root.resolve("turn-" + number);
            delete(target);
            copy(live(), target);
            ObjectNode body = JsonNodeFactory.instance
                    .objectNode()
                    .put("turn", number)
                    .put("effect", Effect.FILES.name())
                    .put("saved", TurnOutcome.Saved.FILES.name());
            body.set("position", position);
            journal.append("commit", body);
            Commit commit = new Commit(number, number, 0, number, Effect.FILES, position);
            synchronized (DirectorySession.this) {
                committed(commit);
                open = null;
            }
            FaultPoints.reach("commit.recorded");
            return new TurnOutcome(commit, TurnEffects.of(List.of()), TurnOutcome.Saved.FILES, 1, 1, 2, 1, 3);
        }

        @Override
        public void abandon() {
            synchronized (DirectorySession.this) {
                open = null;
            }
        }
    }

    private static void copy(Path from, Path to) {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Path target = to.resolve(from.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(target);
                } else {
                    Files.copy(file, target, StandardCopyOption.REPLACE_EXISTING);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void delete(Path root) {
        if (!Files.exists(root)) {
            return;
        }
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private record DirectorySandbox(String id, Path root, Map<String, String> attributes) implements Sandbox {
        DirectorySandbox(String id, Path root) {
            this(id, root, new ConcurrentHashMap<>());
        }

        @Override
        public ExecResult exec(ExecRequest request) {
            long start = System.nanoTime();
            try {
                Process process = new ProcessBuilder(request.command())
                        .directory(root.toFile())
                        .start();
                process.getOutputStream().close();
                byte[] out = process.getInputStream().readAllBytes();
                byte[] err = process.getErrorStream().readAllBytes();
                return new ExecResult(
                        new ExecResult.End.Exited(process.waitFor()),
                        out,
                        err,
                        false,
                        Duration.ofNanos(System.nanoTime() - start));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public Shell shell(String name) {
            throw new UnsupportedOperationException();
        }

        @Override
        public PtyShell pty(String name) {
            throw new UnsupportedOperationException();
        }

        @Override
        public byte[] readFile(String path, int limit) {
            try {
                return Files.readAllBytes(root.resolve(path));
            } catch (IOException e) {
                throw CrabException.io("cannot read " + path, e);
            }
        }

        @Override
        public void writeFile(String path, byte[] content) {
            try {
                Files.write(root.resolve(path), content);
            } catch (IOException e) {
                throw CrabException.io("cannot write " + path, e);
            }
        }

        @Override
        public List<FileEntry> listFiles(String path) {
            throw new UnsupportedOperationException();
        }
    }
}
