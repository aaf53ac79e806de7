package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.ask;
import static dev.crab.runtime.session.SessionFixture.peek;
import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static dev.crab.runtime.session.SessionFixture.startCounter;
import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.GarbageCollector.Garbage;
import dev.crab.runtime.session.GarbageCollector.Kind;
import dev.crab.runtime.session.GarbageCollector.Report;
import dev.crab.runtime.snapshot.BtrfsSnapshotter;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.FileObjectStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class GarbageCollectorTest {
    private static SessionFixture fixture;

    @BeforeAll
    static void open() {
        fixture = new SessionFixture();
    }

    @AfterAll
    static void close() {
        fixture.close();
    }

    @Test
    void oldGenerationsAndLeftovers_goAndWhatIsNeededStays() {
        try (SandboxSession session = fixture.open("gc")) {
            Turn first = session.beginTurn();
            startCounter(session.sandbox());
            first.commit(position(1));
            for (int turn = 2; turn <= 4; turn++) {
                Turn next = session.beginTurn();
                ask(session.sandbox());
                run(session.sandbox(), "echo " + turn + " >/srv/turn");
                next.commit(position(turn));
            }
        }
        try (SandboxSession other = fixture.open("gc2")) {
            Turn turn = other.beginTurn();
            run(other.sandbox(), "echo hello >/srv/file");
            turn.commit(position(1));
        }
        new FileObjectStore(fixture.runtime().data()).write("gc.g9.dump", out -> out.write(new byte[100]));
        try (Snapshotter snapshots = BtrfsSnapshotter.open(fixture.data())) {
            snapshots.snapshot(snapshots.createVolume("scratch"), "gc.g9");
            snapshots.createVolume(fixture.runtime().data().sandbox("gc"));
        }
        List<String> before = fixture.stored("gc");
        List<String> ofOther = fixture.stored("gc2");

        try (CrabRuntime keepTwo = keeping(2)) {
            Report dry = keepTwo.collectGarbage(true);
            assertThat(fixture.stored("gc")).isEqualTo(before);
            assertThat(names(dry, Kind.GENERATION)).containsExactly("1", "2");
            assertThat(names(dry, Kind.SNAPSHOT)).containsExactlyInAnyOrder("gc.g1", "gc.g2", "gc.g9");
            assertThat(names(dry, Kind.SANDBOX))
                    .containsExactly(fixture.runtime().data().sandbox("gc"));
            assertThat(dry.garbage())
                    .contains(new Garbage("gc", Kind.OBJECT, "gc.g9.dump", 100))
                    .allMatch(garbage -> garbage.session().equals("gc"));
            // Pages of the first dump are those of the newest, too.
            assertThat(names(dry, Kind.OBJECT)).doesNotContain("gc.g1.dump");

            Report done = keepTwo.collectGarbage(false);
            assertThat(done.garbage()).containsExactlyInAnyOrderElementsOf(dry.garbage());
            assertThat(keepTwo.collectGarbage(false).garbage()).isEmpty();
        }
        assertThat(fixture.stored("gc2")).isEqualTo(ofOther);
        try (Snapshotter snapshots = BtrfsSnapshotter.open(fixture.data())) {
            assertThat(snapshots.volumes()).containsExactly("scratch");
            snapshots.delete(snapshots.createVolume("other"));
        }
        try (SandboxSession session = fixture.open("gc")) {
            assertThat(peek(session.sandbox())).isEqualTo(4);
            assertThat(run(session.sandbox(), "cat /srv/turn")).isEqualTo("4");
        }
    }

    @Test
    void sessionThatSomebodyHasOpen_isPassedOver() {
        try (SandboxSession session = fixture.open("alive")) {
            Turn turn = session.beginTurn();
            run(session.sandbox(), "echo hello >/srv/file");
            turn.commit(position(1));
            new FileObjectStore(fixture.runtime().data()).write("alive.g2.files", out -> out.write(1));
            Report report = fixture.runtime().collectGarbage(false);
            assertThat(report.garbage()).noneMatch(garbage -> garbage.session().equals("alive"));
            assertThat(report.passedOver())
                    .filteredOn(one -> one.session().equals("alive"))
                    .singleElement()
                    .satisfies(one -> assertThat(one.reason().code()).isEqualTo(ErrorCode.SESSION_LOCKED));
            assertThat(fixture.stored("alive")).contains("alive.g2.files");
        }
    }

    @Test
    void sessionWhoseManifestCannotBeRead_losesNothing() throws IOException {
        try (SandboxSession session = fixture.open("torn")) {
            for (int n = 1; n <= 3; n++) {
                Turn turn = session.beginTurn();
                run(session.sandbox(), "echo " + n + " >/srv/file");
                turn.commit(position(n));
            }
        }
        Path manifest =
                CheckpointStore.manifests(fixture.runtime().data(), "torn").file(3);
        byte[] intact = Files.readAllBytes(manifest);
        Files.write(manifest, new byte[10]);
        List<String> before = fixture.stored("torn");
        try (CrabRuntime keepOne = keeping(1)) {
            assertThat(keepOne.collectGarbage(false).passedOver())
                    .filteredOn(one -> one.session().equals("torn"))
                    .singleElement()
                    .satisfies(one -> assertThat(one.reason().code()).isEqualTo(ErrorCode.MANIFEST_CORRUPT));
            assertThat(fixture.stored("torn")).isEqualTo(before);
            Files.delete(manifest);
            assertThat(keepOne.collectGarbage(false).passedOver())
                    .filteredOn(one -> one.session().equals("torn"))
                    .singleElement()
                    .satisfies(one -> assertThat(one.reason().code()).isEqualTo(ErrorCode.GENERATION_UNKNOWN));
            Files.write(manifest, intact);
            keepOne.collectGarbage(false);
        }
        assertThat(fixture.stored("torn")).containsExactlyInAnyOrder("3.json", "torn.g3.files", "snapshot torn.g3");
    }

    private static CrabRuntime keeping(int generations) {
        return CrabRuntime.builder()
                .dataDirectory(fixture.data())
                .keepGenerations(generations)
                .build();
    }

    private static List<String> names(Report report, Kind kind) {
        return report.garbage().stream()
                .filter(garbage -> garbage.kind() == kind)
                .map(Garbage::name)
                .toList();
    }
}
