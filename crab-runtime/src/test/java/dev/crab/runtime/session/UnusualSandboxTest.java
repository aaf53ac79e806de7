package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.SandboxSession.Recovery;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What commands do to their own sandbox without meaning harm, and its way through commit and restore. */
class UnusualSandboxTest {
    private static SessionFixture fixture;
    private static int sessions;

    private final String id = "u" + ++sessions;

    @BeforeAll
    static void make() {
        fixture = new SessionFixture();
    }

    @AfterAll
    static void remove() {
        fixture.close();
    }

    private void comesBack(int turn, int processes) {
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.recovery()).isInstanceOfSatisfying(Recovery.Restored.class, restored -> {
                assertThat(restored.commit().turn()).isEqualTo(turn);
                assertThat(restored.skipped()).isEmpty();
                assertThat(restored.processesRestored()).isEqualTo(processes);
            });
            assertThat(run(session.sandbox(), "echo works")).isEqualTo("works");
        }
    }

    @Test
    void emptiedRunDirectory_costsNoTurn() {
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            run(session.sandbox(), "echo kept > /srv/kept");
            first.commit(position(1));
            Turn second = session.beginTurn();
            run(session.sandbox(), "rm -rf /run/*");
            second.commit(position(2));
            assertThat(run(session.sandbox(), "ls -d /run/crab")).isEqualTo("/run/crab");
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.lastCommit()).extracting(Commit::turn).isEqualTo(2L);
            assertThat(run(session.sandbox(), "cat /srv/kept")).isEqualTo("kept");
        }
    }

    @Test
    void emptiedRunDirectory_besideAProcess_costsNoTurn() {
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            run(session.sandbox(), "setsid sleep infinity > /dev/null 2>&1 < /dev/null & rm -rf /run/*");
            turn.commit(position(1));
            Turn second = session.beginTurn();
            run(session.sandbox(), "rm -rf /run/*");
            run(session.sandbox(), "echo the next request finds its way as well");
            second.commit(position(2));
        }
        comesBack(2, 2);
    }

    @Test
    void sandboxThatCannotBeReached_isNotCommitted() {
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            run(session.sandbox(), "rm /run/crab/exec.sock; echo nothing that listens > /run/crab/exec.sock");
            assertThatThrownBy(() -> turn.commit(position(1)))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CONTROL_SOCKET_REFUSED));
        }
    }

    @Test
    void sandboxAtItsLimitOfProcesses_comesBack() {
        int limit = 24;
        try (SandboxSession session = fixture.open(id, SessionFixture.spec().withPidLimit(limit))) {
            Turn turn = session.beginTurn();
            run(
                    session.sandbox(),
                    "for i in $(seq " + (limit - 3)
                            + "); do setsid sleep infinity > /dev/null 2>&1 < /dev/null & done");
            turn.commit(position(1));
        }
        comesBack(1, limit - 2);
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.sandbox()
                            .exec("for i in 1 2 3 4 5 6; do sleep infinity & done; wait")
                            .isSuccess())
                    .as("the limit holds again")
                    .isFalse();
        }
    }
}
