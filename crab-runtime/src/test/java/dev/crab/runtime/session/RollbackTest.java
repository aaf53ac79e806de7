package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.CrashTest.Workload;
import dev.crab.runtime.session.TurnDiff.Kind;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Going back to a turn: files, processes and what is carried by value are those of its commit, and the turns after it never were. */
class RollbackTest {
    private static final SessionFixture FIXTURE = new SessionFixture();

    @AfterAll
    static void remove() {
        FIXTURE.close();
    }

    private static SandboxSession worked(String id) {
        SandboxSession session = FIXTURE.open(id);
        Workload.run(session, Workload.TURNS, line -> {});
        return session;
    }

    @Test
    void backAtEachTurn_itsStateIsThere_andTurnsGoOnFromIt() {
        try (SandboxSession session = worked("each")) {
            Sandbox sandbox = session.sandbox();
            for (long turn : new long[] {2, 1, 0}) {
                Rollback back = session.rollbackTo(turn);

                assertThat(back.turn()).isEqualTo(turn);
                assertThat(back.voidTurns()).isEqualTo(turn == 2 ? 1 : turn == 1 ? 2 : 3);
                Workload.assertStateAfter(session, turn);
                assertThat(session.sandbox()).as("what leads to it").isSameAs(sandbox);
                Workload.run(session, Workload.TURNS, line -> {});
                Workload.assertStateAfter(session, Workload.TURNS);
                assertThat(session.turns()).extracting(TurnInfo::number).containsExactly(1L, 2L, 3L);
            }
        }
        try (SandboxSession again = FIXTURE.open("each")) {
            Workload.assertStateAfter(again, Workload.TURNS);
        }
    }

    @Test
    void rolledBackAndClosed_opensAtThatTurn_andNothingOfVoidTurnsIsLeft() {
        try (SandboxSession session = worked("closed")) {
            session.rollbackTo(1, "the file was wrong");
        }
        assertThat(FIXTURE.stored("closed")).noneMatch(name -> name.matches(".*(\\.g[23].*|[23]\\.json)"));
        try (SandboxSession again = FIXTURE.open("closed")) {
            Workload.assertStateAfter(again, 1);
            assertThat(again.recovery())
                    .isInstanceOfSatisfying(
                            SandboxSession.Recovery.Restored.class,
                            restored -> assertThat(restored.skipped())
                                    .as("nothing was damaged")
                                    .isEmpty());
        }
    }

    @Test
    void openTurn_endsWithTheSandboxThatItRanIn() {
        try (SandboxSession session = worked("open")) {
            Turn open = session.beginTurn();
            SessionFixture.run(session.sandbox(), "echo lost > /srv/file; pkill python3");

            session.rollbackTo(Workload.TURNS);

            Workload.assertStateAfter(session, Workload.TURNS);
            assertThatThrownBy(() -> open.commit(SessionFixture.position(9)))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.STATE_INVALID));
        }
    }

    @Test
    void turnsThatAreNotThere_areRefusedByName_andTheSessionStaysAsItIs() {
        SessionFixture few = new SessionFixture(SessionFixture.temporary(), 1);
        try (few;
                SandboxSession session = few.open("few")) {
            Workload.run(session, Workload.TURNS, line -> {});
            session.label(Workload.TURNS, "before the end");
            SessionFixture.run(session.sandbox(), "true");
            commit(session, "echo 4 > /srv/four");
            commit(session, "echo 5 > /srv/five");
            awaitOnly(session, 3, 5);

            refused(session, 4, ErrorCode.TURN_NOT_KEPT);
            assertThatThrownBy(() -> session.rollbackTo(4)).hasMessageContaining("kept are 0, 3, 5");
            refused(session, 6, ErrorCode.TURN_UNKNOWN);
            refused(session, -1, ErrorCode.TURN_UNKNOWN);
            assertThat(SessionFixture.run(session.sandbox(), "cat /srv/five")).isEqualTo("5");

            // What is labelled is kept.
            assertThat(session.turns())
                    .filteredOn(turn -> "before the end".equals(turn.label()))
                    .extracting(TurnInfo::number)
                    .containsExactly(3L);
            session.rollbackTo(3);
            Workload.assertStateAfter(session, Workload.TURNS);
        }
    }

    /** Old generations go behind the caller's back. */
    private static void awaitOnly(SandboxSession session, long... kept) {
        List<Long> expected = java.util.Arrays.stream(kept).boxed().toList();
        for (int i = 0; i < 600; i++) {
            List<Long> found = session.turns().stream()
                    .filter(TurnInfo::kept)
                    .map(TurnInfo::number)
                    .toList();
            if (found.equals(expected)) {
                return;
            }
            java.util.concurrent.locks.LockSupport.parkNanos(50_000_000);
        }
        throw new AssertionError("kept are " + session.turns());
    }

    private static void refused(SandboxSession session, long turn, ErrorCode code) {
        assertThatThrownBy(() -> session.rollbackTo(turn))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(code));
        assertThatThrownBy(() -> session.branch(turn, 1))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(code));
    }

    private static void commit(SandboxSession session, String command) {
        Turn turn = session.beginTurn();
        SessionFixture.run(session.sandbox(), command);
        turn.commit(SessionFixture.position(turn.number()));
    }

    @Test
    void diff_tellsFilesAndProcesses() {
        try (SandboxSession session = FIXTURE.open("diff")) {
            commit(session, "echo one > /srv/one; echo two > /srv/two; mkdir /srv/dir");
            commit(
                    session,
                    "echo more >> /srv/one; rm /srv/two /etc/hostname /etc/debian_version -f; touch /srv/dir/new");
            commit(
                    session,
                    "setsid sleep 1000 > /dev/null 2>&1 < /dev/null & until grep -q sleep /proc/$!/comm; do sleep 0.01; done");

            TurnDiff files = session.diff(1, 2);
            assertThat(files.files())
                    .extracting(change -> change.kind() + " " + change.path())
                    .contains(
                            "CHANGED /srv/one", "REMOVED /srv/two", "ADDED /srv/dir/new", "DELETED /etc/debian_version")
                    .doesNotContain("CHANGED /srv/dir", "CHANGED /srv");
            assertThat(session.diff(2, 1).files())
                    .extracting(change -> change.kind() + " " + change.path())
                    .contains(
                            "CHANGED /srv/one", "ADDED /srv/two", "REMOVED /srv/dir/new", "ADDED /etc/debian_version");
            assertThat(session.diff(2, 3).born())
                    .extracting(process -> process.comm())
                    .containsExactly("sleep");
            assertThat(session.diff(3, 2).gone())
                    .extracting(process -> process.comm())
                    .containsExactly("sleep");
            assertThat(session.diff(2, 2).files()).isEmpty();
            assertThat(session.diff(0, 1).files())
                    .filteredOn(change -> change.kind() == Kind.ADDED)
                    .extracting(TurnDiff.FileChange::path)
                    .contains("/srv/one", "/srv/two", "/srv/dir");
        }
    }

    @Test
    void afterARollback_oldAndNewOpeningsLeaveNoSecondSandbox() {
        CrabRuntime runtime = FIXTURE.runtime();
        try (SandboxSession session = worked("one")) {
            session.rollbackTo(2);
            session.rollbackTo(1);
        }
        assertThat(runtime.collectGarbage(true).garbage())
                .as("what is left of sandboxes")
                .noneMatch(garbage -> garbage.session().equals("one"));
    }
}
