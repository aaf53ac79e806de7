package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.EffectReason;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.SandboxSession.Recovery;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sandboxes in which a runaway program has nested directories until their path is longer than the kernel takes at once. */
class LongPathTest {
    private static final String NAME = "d".repeat(53);
    private static SessionFixture fixture;

    @BeforeAll
    static void make() {
        fixture = new SessionFixture();
    }

    @AfterAll
    static void remove() {
        fixture.close();
    }

    /** Goes down directories from /srv, makes those that are missing, and runs a command at the end. */
    private static String deep(Sandbox sandbox, int depth, String command) {
        return run(
                sandbox,
                "cd /srv; for i in $(seq " + depth + "); do cd -P " + NAME + " 2> /dev/null || { mkdir " + NAME
                        + " && cd -P " + NAME + "; } || exit 1; done; " + command);
    }

    private static List<String> reasons(TurnOutcome outcome) {
        return outcome.effects().reasons().stream().map(EffectReason::rule).toList();
    }

    @Test
    void longPath_comesBack() {
        String id = "long";
        int depth = 90;
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            run(session.sandbox(), "echo small > /srv/small");
            first.commit(position(1));
            Turn second = session.beginTurn();
            deep(session.sandbox(), depth, "echo deep > file");
            TurnOutcome outcome = second.commit(position(2));
            assertThat(reasons(outcome)).doesNotContain("inspection-failed").contains("files-changed");
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.recovery()).isInstanceOfSatisfying(Recovery.Restored.class, restored -> {
                assertThat(restored.commit().turn()).isEqualTo(2);
                assertThat(restored.skipped()).isEmpty();
            });
            assertThat(deep(session.sandbox(), depth, "cat file")).isEqualTo("deep");

            Turn idle = session.beginTurn();
            deep(session.sandbox(), depth, "cat file");
            assertThat(idle.commit(position(3)).saved()).isEqualTo(TurnOutcome.Saved.NOTHING);
            Turn changing = session.beginTurn();
            deep(session.sandbox(), depth, "echo more >> file");
            assertThat(reasons(changing.commit(position(4)))).containsExactly("files-changed");
        }
        List<SessionArchive.Finding> findings = new ArrayList<>();
        fixture.runtime().verify(id, findings::add);
        assertThat(findings).isNotEmpty().allMatch(finding -> finding.problem() == null);
        try (SandboxSession session = fixture.open(id)) {
            assertThat(deep(session.sandbox(), depth, "cat file")).isEqualTo("deep\nmore");
            assertThat(session.diff(1, 4).files())
                    .anySatisfy(change ->
                            assertThat(change.path()).endsWith("/file").hasSizeGreaterThan(4096));
            session.rollbackTo(1);
            assertThat(run(session.sandbox(), "ls /srv")).isEqualTo("small");
            Turn again = session.beginTurn();
            deep(session.sandbox(), depth, "echo again > file");
            again.commit(position(2));
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(deep(session.sandbox(), depth, "cat file")).isEqualTo("again");
        }
    }

    @Test
    void treeThatCannotBeSaved_isRefusedAtItsTurn_andTheSessionGoesOnWithoutIt() {
        String id = "endless";
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            run(session.sandbox(), "echo small > /srv/small");
            first.commit(position(1));
            Turn second = session.beginTurn();
            run(
                    session.sandbox(),
                    "p=$(printf %.0sd/ $(seq 700)); cd /srv; mkdir -p $p; cd -P $p; mkdir -p $p; cd -P $p; mkdir -p $p");
            assertThatThrownBy(() -> second.commit(position(2)))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.LIMIT_EXCEEDED));
            assertThat(session.lastCommit()).extracting(Commit::turn).isEqualTo(1L);
            run(session.sandbox(), "rm -rf /srv/d");
            second.commit(position(2));
            assertThat(session.lastCommit()).extracting(Commit::turn).isEqualTo(2L);
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), "ls /srv")).isEqualTo("small");
        }
    }

    /** CRIU finds no file again whose path the kernel does not tell. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "exec setsid sleep infinity > /dev/null",
                "exec 9> file; cd /; exec setsid sleep infinity > /dev/null"
            })
    void processThatHoldsALongPath_isRefusedAtItsTurn_andTheSessionGoesOnWithoutIt(String program) {
        String id = "inside" + program.indexOf("setsid");
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            String pid = deep(session.sandbox(), 90, "{ " + program + "; } 2>&1 < /dev/null & echo $!");
            assertThatThrownBy(() -> turn.commit(position(1)))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CAPTURE_FAILED));
            run(session.sandbox(), "kill -9 " + pid);
            turn.commit(position(1));
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.lastCommit()).extracting(Commit::turn).isEqualTo(1L);
        }
    }
}
