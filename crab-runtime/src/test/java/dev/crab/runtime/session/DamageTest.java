package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.peek;
import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static dev.crab.runtime.session.SessionFixture.startCounter;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.TurnOutcome.Saved;
import dev.crab.runtime.snapshot.BtrfsSnapshotter;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Whatever is damaged, full or in the way: a typed refusal, nothing half restored, nothing lost. */
class DamageTest {
    private static SessionFixture fixture;

    @BeforeAll
    static void commitATurn() {
        fixture = new SessionFixture();
        try (SandboxSession session = fixture.open("damaged")) {
            Turn turn = session.beginTurn();
            startCounter(session.sandbox());
            assertThat(turn.commit(position(1)).saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
        }
    }

    @AfterAll
    static void remove() {
        fixture.close();
    }

    @Test
    void flippedOrCutJournal_isRefusedUntilItIsBack() throws IOException {
        damage(fixture.runtime().data().session("damaged").resolve("journal"), ErrorCode.JOURNAL_CORRUPT);
    }

    @Test
    void flippedOrCutManifest_isRefusedUntilItIsBack() throws IOException {
        damage(CheckpointStore.manifests(fixture.runtime().data(), "damaged").file(1), ErrorCode.MANIFEST_CORRUPT);
    }

    @Test
    void missingManifest_isRefusedUntilItIsBack() throws IOException {
        Path file =
                CheckpointStore.manifests(fixture.runtime().data(), "damaged").file(1);
        byte[] intact = Files.readAllBytes(file);
        Files.delete(file);
        assertRefused(ErrorCode.GENERATION_UNKNOWN, file.toString());
        Files.write(file, intact);
        assertWhole();
    }

    @Test
    void flippedOrCutObjects_areRefusedUntilTheyAreBack() throws IOException {
        List<Path> objects = new ArrayList<>();
        try (Stream<Path> files = Files.walk(fixture.runtime().data().objects())) {
            files.filter(file -> file.getFileName().toString().startsWith("damaged.g1"))
                    .forEach(objects::add);
        }
        assertThat(objects).hasSize(2);
        for (Path object : objects) {
            damage(object, ErrorCode.OBJECT_CORRUPT);
        }
    }

    @Test
    void missingSnapshot_isRefused() {
        try (SandboxSession session = fixture.open("snapshotless")) {
            Turn turn = session.beginTurn();
            session.sandbox().writeFile("/srv/file", new byte[1]);
            turn.commit(position(1));
        }
        try (Snapshotter snapshots = BtrfsSnapshotter.open(fixture.data())) {
            snapshots.delete(snapshots.find("snapshotless.g1"));
        }
        assertThatThrownBy(() -> fixture.open("snapshotless"))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.SNAPSHOT_MISSING));
        assertNothingRuns("snapshotless");
        List<SessionArchive.Finding> findings = new ArrayList<>();
        fixture.runtime().verify("snapshotless", findings::add);
        assertThat(findings).filteredOn(finding -> finding.problem() != null).hasSize(1);
    }

    @Test
    void strangeThingsInTheStore_standInTheWayOfNoDeletion() throws IOException {
        fixture.open("strange").close();
        Path directory = fixture.runtime().data().session("strange");
        Path stray = Files.createFile(fixture.runtime().data().objects().resolve("README"));
        fixture.open("strange").close();
        Files.delete(directory.resolve("manifests"));
        Files.createFile(directory.resolve("manifests"));
        Files.delete(directory.resolve("journal"));
        Files.createDirectories(directory.resolve("journal/full"));
        Files.delete(directory.resolve("journal.durable"));
        Files.createSymbolicLink(directory.resolve("journal.durable"), Path.of("/dev/zero"));
        fixture.runtime().delete("strange");
        assertThat(directory).doesNotExist();
        Files.delete(stray);
    }

    @Test
    void verify_findsEverythingInOrder() {
        List<SessionArchive.Finding> findings = new ArrayList<>();
        fixture.runtime().verify("damaged", findings::add);
        assertThat(findings).hasSize(4).allMatch(finding -> finding.problem() == null);
    }

    @Test
    void fullDisk_leavesTheTurnOpenAndTheLastCommitWhole() throws IOException {
        Path at = SessionFixture.temporary();
        try (SmallDisk disk = SmallDisk.tmpfs(at.resolve("disk"), 420 << 10)) {
            try (SessionFixture small = new SessionFixture(disk.root().resolve("data"), 100)) {
                try (SandboxSession session = small.open("full")) {
                    Turn first = session.beginTurn();
                    startCounter(session.sandbox());
                    first.commit(position(1));
                    Turn second = session.beginTurn();
                    SessionFixture.ask(session.sandbox());
                    Path filler = disk.root().resolve("filler");
                    fill(filler);
                    assertThatThrownBy(() -> second.commit(position(2)))
                            .isInstanceOfSatisfying(
                                    CrabException.class,
                                    e -> assertThat(e.code()).isEqualTo(ErrorCode.DISK_FULL));
                    assertThat(peek(session.sandbox()))
                            .as("the sandbox runs on")
                            .isEqualTo(2);
                    assertThat(small.runtime().archive("full").turns()).hasSize(1);
                    Files.delete(filler);
                    assertThat(second.commit(position(2)).saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
                }
                try (SandboxSession session = small.open("full")) {
                    assertThat(peek(session.sandbox())).isEqualTo(2);
                }
            }
        } finally {
            Files.delete(at.resolve("disk"));
            Files.delete(at);
        }
    }

    @Test
    void processThatCannotBeDumped_stopsTheCommitOrIsToldAsLostByPolicy() throws IOException {
        String traced = """
                import ctypes, os, time
                if os.fork() == 0:
                    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
                    while True: time.sleep(1000)
                open('/srv/ready', 'w').close()
                while True: time.sleep(1000)
                """;
        String command = "setsid python3 -c \"" + traced + "\" >/dev/null 2>&1 </dev/null & "
                + "while [ ! -e /srv/ready ]; do sleep 0.01; done";
        try (SandboxSession session = fixture.open("strict")) {
            Turn turn = session.beginTurn();
            run(session.sandbox(), command);
            assertThatThrownBy(() -> turn.commit(position(1)))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CAPTURE_FAILED));
            assertThat(run(session.sandbox(), "pgrep -c python3"))
                    .as("the sandbox runs on")
                    .isEqualTo("2");
            run(session.sandbox(), "pkill python3; while pgrep python3; do sleep 0.01; done");
            assertThat(turn.commit(position(1)).saved()).isEqualTo(Saved.FILES);
        }
        try (SessionFixture lenient =
                new SessionFixture(SessionFixture.temporary(), 100, UncapturedPolicy.CONTINUE_UNPROTECTED)) {
            try (SandboxSession session = lenient.open("lenient")) {
                Turn turn = session.beginTurn();
                run(session.sandbox(), command);
                TurnOutcome outcome = turn.commit(position(1));
                assertThat(outcome.saved()).isEqualTo(Saved.FILES);
                assertThat(outcome.commit().processGeneration()).isZero();
            }
            assertThat(lenient.runtime().archive("lenient").turns().get(0).lost())
                    .anyMatch(lost -> lost.contains("python3"));
            try (SandboxSession session = lenient.open("lenient")) {
                assertThat(session.recovery()).isInstanceOfSatisfying(Recovery.Restored.class, restored -> {
                    assertThat(restored.lost()).anyMatch(lost -> lost.contains("python3"));
                    assertThat(restored.processesRestored()).isZero();
                });
                assertThat(run(session.sandbox(), "ls /srv")).isEqualTo("ready");
                assertThat(run(session.sandbox(), "pgrep -c python3 || true")).isEqualTo("0");
            }
            try (CrabRuntime restarting = CrabRuntime.builder()
                            .dataDirectory(lenient.data())
                            .onUncaptured(UncapturedPolicy.CONTINUE_UNPROTECTED)
                            .onLost(LostPolicy.RESTART)
                            .build();
                    SandboxSession session = restarting.open("lenient", SessionFixture.spec())) {
                assertThat(session.recovery()).isInstanceOfSatisfying(Recovery.Restored.class, restored -> {
                    assertThat(restored.lost()).hasSize(3);
                    assertThat(restored.restarted())
                            .singleElement()
                            .satisfies(one ->
                                    assertThat(one).contains("python3 -c").contains("ptrace"));
                });
                // The one that was started by a command, which starts its child itself.
                assertThat(run(session.sandbox(), "while [ $(pgrep -c python3) != 2 ]; do sleep 0.05; done; pwd"))
                        .isEqualTo("/root");
                Turn turn = session.beginTurn();
                run(session.sandbox(), "pkill python3; while pgrep python3; do sleep 0.01; done");
                TurnOutcome outcome = turn.commit(position(2));
                assertThat(outcome.saved()).isEqualTo(Saved.FILES);
            }
        }
    }

    private static void fill(Path file) throws IOException {
        byte[] chunk = new byte[1 << 16];
        try (var out = Files.newOutputStream(file)) {
            while (true) {
                out.write(chunk);
            }
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("No space left");
        }
    }

    private static void damage(Path file, ErrorCode code) throws IOException {
        byte[] intact = Files.readAllBytes(file);
        byte[] flipped = intact.clone();
        flipped[intact.length / 2] ^= 1;
        Files.write(file, flipped);
        assertRefused(code, file.getFileName().toString());
        Files.write(file, java.util.Arrays.copyOf(intact, intact.length / 2));
        assertRefused(code, file.getFileName().toString());
        Files.write(file, intact);
        assertWhole();
    }

    private static void assertRefused(ErrorCode code, String named) {
        assertThatThrownBy(() -> fixture.open("damaged")).isInstanceOfSatisfying(CrabException.class, e -> {
            assertThat(e.code()).isEqualTo(code);
            assertThat(e.getMessage()).contains(named);
        });
        assertNothingRuns("damaged");
    }

    private static void assertNothingRuns(String session) {
        String sandbox = fixture.runtime().data().sandbox(session);
        assertThat(Cgroups.detect().group(sandbox).exists()).isFalse();
        try (Snapshotter snapshots = BtrfsSnapshotter.open(fixture.data())) {
            assertThat(snapshots.volumes()).doesNotContain(sandbox);
        }
    }

    private static void assertWhole() {
        try (SandboxSession session = fixture.open("damaged")) {
            assertThat(peek(session.sandbox())).isEqualTo(1);
        }
    }
}
