package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static dev.crab.runtime.session.SessionFixture.startCounter;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.session.TurnOutcome.Saved;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** When a commit asks for its turn on the host. */
class AdmissionTest {
    private static SessionFixture fixture;

    private final List<String> calls = new ArrayList<>();

    @BeforeAll
    static void make() {
        fixture = new SessionFixture();
    }

    @AfterAll
    static void remove() {
        fixture.close();
    }

    @AfterEach
    void disarm() {
        FaultPoints.handler(null);
    }

    /** Notes what is asked, and asks the sandbox itself whether it runs meanwhile. */
    private Admission noting(SandboxSession session) {
        return new Admission() {
            @Override
            public long awaitCapture(Effect effect) {
                calls.add("capture " + effect + " " + run(session.sandbox(), "echo runs; echo late >> /srv/late"));
                return 7;
            }

            @Override
            public long awaitPersist(long bytes) {
                calls.add("persist " + (bytes > 0 ? "a dump, " : "") + run(session.sandbox(), "echo runs"));
                return 5;
            }

            @Override
            public void release(long bytes) {
                calls.add("release " + (bytes > 0 ? "some" : "none"));
            }
        };
    }

    @Test
    void turnWithoutEffect_asksForNothing() {
        try (SandboxSession session = fixture.open("none")) {
            Turn turn = session.beginTurn();
            run(session.sandbox(), "true");
            TurnOutcome outcome = turn.commit(position(1), noting(session));
            assertThat(outcome.saved()).isEqualTo(Saved.NOTHING);
            assertThat(outcome.captureWaitNanos()).isZero();
            assertThat(calls).containsExactly("release some");
        }
    }

    @Test
    void whatHappensWhileItWaits_isInTheCheckpoint() {
        try (SandboxSession session = fixture.open("files")) {
            Turn turn = session.beginTurn();
            run(session.sandbox(), "echo x > /srv/x");
            TurnOutcome outcome = turn.commit(position(1), noting(session));
            assertThat(outcome.saved()).isEqualTo(Saved.FILES);
            assertThat(outcome.captureWaitNanos()).isEqualTo(7);
            assertThat(outcome.persistWaitNanos()).isEqualTo(5);
            assertThat(calls).containsExactly("capture FILES runs", "persist runs", "release some");
        }
        try (SandboxSession session = fixture.open("files")) {
            assertThat(run(session.sandbox(), "cat /srv/x /srv/late")).isEqualTo("x\nlate");
        }
    }

    @Test
    void processes_areAnnouncedAsSuch() {
        try (SandboxSession session = fixture.open("processes")) {
            Turn turn = session.beginTurn();
            startCounter(session.sandbox());
            TurnOutcome outcome = turn.commit(position(1), noting(session));
            assertThat(outcome.saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
            assertThat(calls).containsExactly("capture FULL runs", "persist a dump, runs", "release some");
        }
    }

    @Test
    void attemptThatFails_givesItsPlaceBack() {
        try (SandboxSession session = fixture.open("fails")) {
            Turn turn = session.beginTurn();
            run(session.sandbox(), "echo x > /srv/x");
            FaultPoints.handler((name, times) -> {
                if (name.equals("capture.begin")) {
                    throw CrabException.of(ErrorCode.CAPTURE_FAILED, "what", "why", "cure");
                }
            });
            assertThatThrownBy(() -> turn.commit(position(1), noting(session))).isInstanceOf(CrabException.class);
            assertThat(calls).containsExactly("capture FILES runs", "release none");
            FaultPoints.handler(null);
            calls.clear();
            turn.commit(position(1), noting(session));
            assertThat(calls).containsExactly("capture FILES runs", "persist runs", "release some");
        }
    }
}
