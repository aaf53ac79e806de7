package dev.crab.samples.store;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.Commit;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.samples.common.AgentJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * A data directory with what a victim needs beside it, and the judge: this JVM opens what a dead one has left. Judging is thread-safe;
 * the rest is for one thread.
 */
final class Place implements AutoCloseable {
    /** Generations that are kept: few, so that most turns drop one. */
    static final int KEPT = 2;

    /** Whoever holds a session's lock for longer is no collector. */
    private static final Duration LOCKED = Duration.ofSeconds(20);

    private final Path directory;
    private final Path image;
    private final AgentJvm jvm;
    private final CrabRuntime runtime;
    private int sessions;

    /**
     * Lays it out.
     *
     * @param directory made if missing; on one file system with everything below it
     * @param image the sandboxes' root file system
     * @param jvm starts victims
     */
    Place(Path directory, Path image, AgentJvm jvm) throws IOException {
        this.directory = Files.createDirectories(directory).toRealPath();
        this.image = image;
        this.jvm = jvm;
        Files.createDirectories(stash());
        this.runtime = CrabRuntime.builder()
                .dataDirectory(data())
                .keepGenerations(KEPT)
                .build();
    }

    Path data() {
        return directory.resolve("data");
    }

    Path stash() {
        return directory.resolve("stash");
    }

    Path control() {
        return directory.resolve("control");
    }

    Path log() {
        return directory.resolve("victim.log");
    }

    Path image() {
        return image;
    }

    AgentJvm jvm() {
        return jvm;
    }

    CrabRuntime runtime() {
        return runtime;
    }

    /** A session's name that was not used here before. */
    String nextSession(String row) {
        return row + "-" + ++sessions;
    }

    /**
     * Opens the session twice, compares it with the script's state after the turn that it is at, and plays the script to its end.
     *
     * @param from the earliest turn that it may be at
     * @param to the latest
     */
    Verdict judge(String session, long from, long to) {
        try {
            long turn;
            try (SandboxSession opened = open(session)) {
                turn = turn(opened);
                if (turn < from || turn > to) {
                    return Verdict.mix("back at turn " + turn + ", which is not from " + from + " to " + to);
                }
                List<String> differences = Script.differences(opened, turn);
                if (!differences.isEmpty()) {
                    return Verdict.mix(String.join("; ", differences));
                }
            }
            return again(session, turn);
        } catch (CrabException e) {
            return e.code() == ErrorCode.INTERNAL
                    ? Verdict.mix(e.toString())
                    : Verdict.refused(e.code().name());
        } catch (RuntimeException e) {
            return Verdict.mix("untyped: " + e);
        }
    }

    /** What came back once must come back again, and go on from there. */
    private Verdict again(String session, long turn) {
        try (SandboxSession opened = open(session)) {
            List<String> differences = Script.differences(opened, turn);
            for (long next = turn + 1; differences.isEmpty() && next <= Script.TURNS; next++) {
                Turn begun = opened.beginTurn();
                Script.play(opened.sandbox(), next);
                begun.commit(Script.position(next));
            }
            if (differences.isEmpty()) {
                differences = Script.differences(opened, Script.TURNS);
            }
            return differences.isEmpty()
                    ? Verdict.whole(turn)
                    : Verdict.mix("again: " + String.join("; ", differences));
        } catch (CrabException e) {
            return Verdict.mix("opened once, and then: " + e);
        }
    }

    private SandboxSession open(String session) {
        return patiently(() -> runtime.open(session, Victim.spec(image)));
    }

    /** Opens a session whose lock a collector may have for a moment, which is long where the host is busy. */
    static SandboxSession patiently(Supplier<SandboxSession> opening) {
        long begin = System.nanoTime();
        while (true) {
            try {
                return opening.get();
            } catch (CrabException e) {
                if (e.code() != ErrorCode.SESSION_LOCKED || System.nanoTime() - begin > LOCKED.toNanos()) {
                    throw e;
                }
                LockSupport.parkNanos(10_000_000);
            }
        }
    }

    private static long turn(SandboxSession opened) {
        Commit last = opened.lastCommit();
        return last == null ? 0 : last.turn();
    }

    /** Removes what a run that was killed has left here. */
    Place emptied() throws IOException {
        for (String session : runtime.sessions()) {
            runtime.delete(session);
        }
        clear("");
        return this;
    }

    /** Removes the session and what the shim has put aside. */
    void clear(String session) throws IOException {
        if (runtime.sessions().contains(session)) {
            runtime.delete(session);
        }
        deleteTree(stash());
        Files.createDirectories(stash());
    }

    static void deleteTree(Path root) throws IOException {
        if (!Files.exists(root)) {
            return;
        }
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** Ends what the runtime holds and unmounts the data directory's file system; the files stay. */
    void leave() {
        runtime.close();
        Snapshotters.release(data());
    }

    /** Leaves nothing behind. */
    @Override
    public void close() throws IOException {
        leave();
        deleteTree(directory);
    }
}
