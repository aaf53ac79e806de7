package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.ask;
import static dev.crab.runtime.session.SessionFixture.peek;
import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static dev.crab.runtime.session.SessionFixture.startCounter;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.snapshot.BtrfsSnapshotter;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.CheckpointStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.OptionalLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A session that lets go of its sandbox for a while, and keeps everything else. */
class ParkedSessionTest {
    private static SessionFixture fixture;
    private static int sessions;

    private final String id = "parked" + ++sessions;

    @BeforeAll
    static void make() {
        fixture = new SessionFixture();
    }

    @AfterAll
    static void remove() {
        fixture.close();
    }

    private static Path cgroup(SandboxSession session) {
        return ((RunningSandbox) session.sandbox()).processes().cgroup();
    }

    private static void assertRefused(ErrorCode code, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CrabException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(code));
    }

    @Test
    void park_sandboxIsGoneAndItsUseBringsItBackAsOfTheLastCommit() {
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            final String pid = startCounter(session.sandbox());
            session.sandbox().attributes().put("where", "/srv");
            turn.commit(position(1));
            ask(session.sandbox());
            Path cgroup = cgroup(session);

            session.park();

            assertThat(session.isParked()).isTrue();
            assertThat(cgroup).doesNotExist();
            assertThat(fixture.runtime().owner(id))
                    .as("the lock stays")
                    .isEqualTo(OptionalLong.of(ProcessHandle.current().pid()));
            assertRefused(ErrorCode.SESSION_LOCKED, () -> fixture.open(id));
            assertThat(session.lastCommit()).isNotNull();
            session.park();

            assertThat(peek(session.sandbox()))
                    .as("what was not committed is undone")
                    .isEqualTo(1);
            assertThat(session.isParked()).isFalse();
            assertThat(session.sandbox().attributes()).containsEntry("where", "/srv");
            assertThat(run(session.sandbox(), "cat /proc/" + pid + "/comm")).isEqualTo("python3");
            assertThat(session.recovery()).isInstanceOf(Recovery.Restored.class);
        }
    }

    @Test
    void park_againAndAgain_turnsGoOnCounting() {
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            startCounter(session.sandbox());
            first.commit(position(1));
            for (int cycle = 1; cycle <= 3; cycle++) {
                session.park();
                Turn turn = session.beginTurn();
                assertThat(turn.number()).isEqualTo(cycle + 1);
                assertThat(ask(session.sandbox())).isEqualTo(cycle + 1);
                turn.commit(position(cycle + 1));
            }
            session.park();
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(peek(session.sandbox())).isEqualTo(4);
        }
    }

    @Test
    void park_beforeAnyCommit_beginsWithTheImage() {
        try (SandboxSession session = fixture.open(id)) {
            run(session.sandbox(), "touch /srv/undone");
            session.park();
            assertThat(run(session.sandbox(), "ls /srv")).isEmpty();
        }
    }

    @Test
    void park_openTurnOrClosed_isRefused() {
        SandboxSession session = fixture.open(id);
        Turn turn = session.beginTurn();
        assertRefused(ErrorCode.STATE_INVALID, session::park);
        turn.commit(position(1));
        session.park();
        session.close();
        assertRefused(ErrorCode.STATE_INVALID, session::sandbox);
        assertRefused(ErrorCode.STATE_INVALID, session::park);
    }

    /** Those who go on from a parked session know of its last commit and of no other. */
    @Test
    void wake_damagedMeanwhile_isRefusedAndOnlyTheNextOpeningFallsBack() throws IOException {
        try (SandboxSession session = fixture.open(id)) {
            for (int number = 1; number <= 2; number++) {
                Turn turn = session.beginTurn();
                run(session.sandbox(), "echo " + number + " > /srv/number");
                turn.commit(position(number));
            }
            session.park();
            Path manifest =
                    CheckpointStore.manifests(fixture.runtime().data(), id).file(2);
            Files.writeString(manifest, "x", StandardOpenOption.APPEND);

            assertRefused(ErrorCode.MANIFEST_CORRUPT, session::sandbox);
            assertThat(session.isParked()).isTrue();
            assertRefused(ErrorCode.MANIFEST_CORRUPT, session::beginTurn);
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), "cat /srv/number")).isEqualTo("1");
        }
    }

    @Test
    void endThatFailedHalfWay_isMadeUpForByARollbackAndByTheEndOfTheSession() throws IOException {
        for (boolean rollsBack : new boolean[] {true, false}) {
            String name = id + rollsBack;
            try (SandboxSession session = fixture.open(name)) {
                Turn turn = session.beginTurn();
                session.sandbox().writeFile("/srv/file", "1");
                turn.commit(position(1));
                FaultPoints.handler((point, times) -> {
                    if (point.equals("park.stopped")) {
                        throw new IllegalStateException("the test's");
                    }
                });
                assertThatThrownBy(session::park).isInstanceOf(IllegalStateException.class);
                FaultPoints.handler(null);
                if (rollsBack) {
                    session.rollbackTo(1);
                }
            } finally {
                FaultPoints.handler(null);
            }
            String sandbox = fixture.runtime().data().sandbox(name);
            try (Snapshotter snapshots = BtrfsSnapshotter.open(fixture.data())) {
                assertThat(snapshots.volumes()).noneMatch(volume -> volume.startsWith(sandbox));
            }
        }
    }
}
