package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.os.OwnFiles;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.CrashTest.Workload;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Sandboxes that are restored ahead and held still: taken by a rollback, given up when they are not wanted, swept behind a dead owner. */
class StandbyTest {
    private static final SessionFixture FIXTURE = new SessionFixture();

    @AfterAll
    static void remove() {
        FIXTURE.close();
    }

    private static CrabRuntime runtime(Path data, int count) {
        return CrabRuntime.builder()
                .dataDirectory(data)
                .keepGenerations(100)
                .set(CrabConfig.STANDBY, Integer.toString(count))
                .build();
    }

    static void awaitParked(SandboxSession session, int count) {
        long deadline = System.nanoTime() + 300_000_000_000L;
        while (session.standbys() != count) {
            assertThat(System.nanoTime())
                    .as("parked are %d", session.standbys())
                    .isLessThan(deadline);
            LockSupport.parkNanos(5_000_000);
        }
    }

    @Test
    void rollbackTakesTheParkedOne_asOftenAsItIsAskedFor_andNothingIsLeftBehind() throws IOException {
        try (CrabRuntime runtime = runtime(FIXTURE.data(), 2);
                SandboxSession session = runtime.open("parked", SessionFixture.spec())) {
            Workload.run(session, Workload.TURNS, line -> {});
            for (int i = 0; i < 3; i++) {
                awaitParked(session, 2);
                // What is parked stands still, and is apart from what runs.
                assertThat(SessionFixture.peek(session.sandbox())).isEqualTo(2);
                SessionFixture.ask(session.sandbox());
                Rollback back = session.rollbackTo(Workload.TURNS);
                assertThat(back.standby()).isTrue();
                assertThat(back.processesRestored()).isEqualTo(2);
                Workload.assertStateAfter(session, Workload.TURNS);
            }
            awaitParked(session, 2);
            Rollback back = session.rollbackTo(2);
            assertThat(back.standby()).as("the one before the newest").isTrue();
            Workload.assertStateAfter(session, 2);
            Workload.run(session, Workload.TURNS, line -> {});
            Workload.assertStateAfter(session, Workload.TURNS);
        }
        assertThat(cgroups("parked")).isEmpty();
        assertThat(FIXTURE.runtime().collectGarbage(true).garbage())
                .noneMatch(garbage -> garbage.session().equals("parked"));
    }

    @Test
    void ownerKilled_whatItHadParkedIsSweptByTheNextOpening() throws IOException {
        Process child = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Victim.class.getName(),
                        FIXTURE.data().toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
            assertThat(lines.readLine()).isEqualTo("parked");
        } finally {
            child.destroyForcibly().onExit().join();
        }
        assertThat(cgroups("victim")).as("one that ran and one that was parked").hasSize(2);
        try (SandboxSession again = FIXTURE.open("victim")) {
            Workload.assertStateAfter(again, Workload.TURNS);
            assertThat(cgroups("victim")).hasSize(1);
        }
        assertThat(FIXTURE.runtime().collectGarbage(true).garbage())
                .noneMatch(garbage -> garbage.session().equals("victim"));
    }

    /** Has a sandbox parked when it is killed. */
    static final class Victim {
        private Victim() {}

        public static void main(String[] arguments) {
            try (CrabRuntime runtime = runtime(Path.of(arguments[0]), 1);
                    SandboxSession session = runtime.open("victim", SessionFixture.spec())) {
                Workload.run(session, Workload.TURNS, line -> {});
                awaitParked(session, 1);
                System.out.println("parked");
                System.out.flush();
                LockSupport.parkNanos(600_000_000_000L);
            }
        }
    }

    private static List<String> cgroups(String session) throws IOException {
        Path parent = Cgroups.detect().unified().resolve("crab");
        if (!Files.isDirectory(parent)) {
            return List.of();
        }
        String first = FIXTURE.runtime().data().sandbox(session);
        try (var groups = Files.list(parent)) {
            return groups.map(group -> group.getFileName().toString())
                    .filter(name -> name.startsWith(first))
                    .toList();
        }
    }

    @Test
    void memoryShort_nothingIsParked() {
        AtomicLong available = new AtomicLong(1000);
        try (StandbyPool pool = new StandbyPool(new StandbyPolicy(1, 500), available::get, 1000)) {
            assertThat(pool.hasRoom(400)).isTrue();
            assertThat(pool.hasRoom(501)).as("the bound").isFalse();
            available.set(450);
            assertThat(pool.hasRoom(400)).as("a tenth has to be left").isFalse();
            assertThat(pool.hasRoom(300)).isTrue();
        }
    }

    /** What is parked says nothing of what is stored: behind such a rollback the next crash could not be recovered from. */
    @Test
    void parkedTurnThatTheStoreHasLost_isRefused() throws IOException {
        try (CrabRuntime runtime = runtime(FIXTURE.data(), 1);
                SandboxSession session = runtime.open("lost", SessionFixture.spec())) {
            Workload.run(session, Workload.TURNS, line -> {});
            awaitParked(session, 1);
            long generation = Objects.requireNonNull(session.lastCommit()).generation();
            Path manifest = FIXTURE.data().resolve("sessions/lost/manifests/" + generation + ".json");
            Path aside = manifest.resolveSibling("aside");
            Files.move(manifest, aside);
            assertThatThrownBy(() -> session.rollbackTo(Workload.TURNS))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TURN_NOT_KEPT));
            Files.move(aside, manifest);
            assertThat(session.rollbackTo(Workload.TURNS).standby()).isTrue();
        }
    }

    @Test
    void boundOfMemory_isKept() {
        try (CrabRuntime runtime = CrabRuntime.builder()
                        .dataDirectory(FIXTURE.data())
                        .set(CrabConfig.STANDBY, "2")
                        .set(CrabConfig.STANDBY_MEMORY, "1000")
                        .build();
                SandboxSession session = runtime.open("bound", SessionFixture.spec())) {
            Workload.run(session, Workload.TURNS, line -> {});
            assertThat(session.rollbackTo(Workload.TURNS).standby()).isFalse();
            assertThat(session.standbys()).isZero();
            Workload.assertStateAfter(session, Workload.TURNS);
        }
    }

    @Test
    void imageThatWasExchanged_isParkedNoMoreThanItIsRestored() throws Exception {
        Path root = Files.createTempDirectory("crab-standby-image");
        Files.createDirectories(root.resolve("root/bin"));
        Files.writeString(root.resolve("root/bin/sh"), "");
        Path archive = root.resolve("image.tar");
        pack(root.resolve("root"), archive);
        SandboxSpec spec = SandboxSpec.defaults().withImage(new SandboxImage.Tarball(archive));
        try (CrabRuntime runtime = runtime(FIXTURE.data(), 1);
                SandboxSession session = runtime.open("exchanged", spec)) {
            save(session);
            awaitParked(session, 1);
            Files.writeString(root.resolve("root/other"), "");
            pack(root.resolve("root"), archive);
            save(session);
            // One thread parks for all: when this one is, it has come past the other.
            try (SandboxSession after = runtime.open("after", SessionFixture.spec())) {
                save(after);
                awaitParked(after, 1);
            }
            assertThat(session.standbys()).isZero();
            assertThatThrownBy(() -> session.rollbackTo(2))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.IMAGE_INVALID));
        } finally {
            OwnFiles.remove(root);
        }
    }

    private static void pack(Path root, Path archive) throws Exception {
        Process tar = new ProcessBuilder("tar", "-C", root.toString(), "-cf", archive.toString(), ".")
                .inheritIO()
                .start();
        assertThat(tar.waitFor()).isZero();
    }

    private static void save(SandboxSession session) {
        Turn turn = session.beginTurn();
        session.sandbox().writeFile("/file", Long.toString(turn.number()));
        turn.commit(SessionFixture.position(turn.number()));
    }
}
