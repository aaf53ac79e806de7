package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Old turns are deleted behind the caller's back, and never one that the caller was told is kept. */
class KeptTurnsTest {
    private static final int KEPT = 3;
    private static final SessionFixture FIXTURE = new SessionFixture(SessionFixture.temporary(), KEPT);

    @AfterAll
    static void remove() {
        FIXTURE.close();
    }

    @AfterEach
    void disarm() {
        FaultPoints.handler(null);
    }

    private static void commit(SandboxSession session, int turns) {
        for (int i = 0; i < turns; i++) {
            Turn turn = session.beginTurn();
            session.sandbox().writeFile("/srv/turn", Long.toString(turn.number()));
            turn.commit(SessionFixture.position(turn.number()));
        }
    }

    private static String turn(SandboxSession session) {
        return SessionFixture.run(session.sandbox(), "cat /srv/turn");
    }

    /** Deletes one turn more than are kept, once the latch lets it. */
    private static void deletesOnlyAfter(CountDownLatch latch, CountDownLatch reached, long millis) {
        AtomicBoolean first = new AtomicBoolean(true);
        FaultPoints.handler((name, times) -> {
            if (name.equals("retention.begin") && first.getAndSet(false)) {
                reached.countDown();
                await(latch, millis);
            }
        });
    }

    private static void await(CountDownLatch latch, long millis) {
        try {
            latch.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void rollbackToATurnThatIsJustBeingDeleted_isRefused_andTheSessionOpensAgain() {
        CountDownLatch back = new CountDownLatch(1);
        CountDownLatch deleting = new CountDownLatch(1);
        try (SandboxSession session = FIXTURE.open("deleting")) {
            deletesOnlyAfter(back, deleting, 500);
            commit(session, KEPT + 1);
            await(deleting, 60_000);
            assertThatThrownBy(() -> session.rollbackTo(1))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.TURN_NOT_KEPT));
            back.countDown();
            assertThat(turn(session)).isEqualTo("4");
        }
        try (SandboxSession again = FIXTURE.open("deleting")) {
            assertThat(turn(again)).isEqualTo("4");
        }
    }

    @Test
    void rollbackToATurnWhoseDeletionIsStillToCome_keepsIt() {
        CountDownLatch back = new CountDownLatch(1);
        CountDownLatch busy = new CountDownLatch(1);
        try (SandboxSession other = FIXTURE.open("busy");
                SandboxSession session = FIXTURE.open("due")) {
            deletesOnlyAfter(back, busy, 60_000);
            commit(other, KEPT + 1);
            await(busy, 60_000);
            commit(session, KEPT + 1);
            session.rollbackTo(1);
            back.countDown();
        }
        try (SandboxSession again = FIXTURE.open("due")) {
            assertThat(again.recovery()).isInstanceOf(SandboxSession.Recovery.Restored.class);
            assertThat(turn(again)).isEqualTo("1");
        }
    }

    @Test
    void labelGivenBeforeTheDeletion_keepsItsTurn() {
        CountDownLatch labelled = new CountDownLatch(1);
        CountDownLatch busy = new CountDownLatch(1);
        try (SandboxSession other = FIXTURE.open("beside");
                SandboxSession session = FIXTURE.open("labelled")) {
            deletesOnlyAfter(labelled, busy, 60_000);
            commit(other, KEPT + 1);
            await(busy, 60_000);
            commit(session, KEPT + 1);
            session.label(1, "a good start");
            labelled.countDown();
        }
        try (SandboxSession again = FIXTURE.open("labelled")) {
            again.rollbackTo(1);
            assertThat(turn(again)).isEqualTo("1");
        }
    }

    @Test
    void whatARollbackMadeVoidAndCouldNotBeDeleted_countsForNothing() {
        try (SandboxSession session = FIXTURE.open("void")) {
            commit(session, KEPT);
            FaultPoints.handler((name, times) -> {
                if (name.equals("sweep.manifest")) {
                    throw new IllegalStateException("the test's");
                }
            });
            session.rollbackTo(1);
            commit(session, 1);
        }
        FaultPoints.handler(null);
        try (SandboxSession session = FIXTURE.open("void")) {
            commit(session, 1);
            assertThat(session.turns()).as("one, two and three").hasSize(KEPT);
        }
        assertThat(FIXTURE.stored("void")).contains("1.json").noneMatch(name -> name.startsWith("3.json"));
        try (SandboxSession session = FIXTURE.open("void")) {
            session.rollbackTo(1);
            assertThat(turn(session)).isEqualTo("1");
        }
    }

    @Test
    void rollback_tellsWhatCameBack() {
        try (SandboxSession session = FIXTURE.open("tells")) {
            commit(session, 2);
            assertThat(session.recovery()).isInstanceOf(SandboxSession.Recovery.Fresh.class);

            session.rollbackTo(1);

            assertThat(session.recovery())
                    .isInstanceOfSatisfying(
                            SandboxSession.Recovery.Restored.class,
                            restored -> assertThat(restored.commit().turn()).isEqualTo(1));
        }
    }
}
