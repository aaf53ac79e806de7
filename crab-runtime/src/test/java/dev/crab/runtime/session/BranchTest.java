package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.CrashTest.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Sessions that begin where another one was: each goes its own way, and none sees another's files, memory, ports or journal. */
class BranchTest {
    private static final SessionFixture FIXTURE = new SessionFixture();
    private static final int BRANCHES = 8;

    @AfterAll
    static void remove() {
        FIXTURE.close();
    }

    @Test
    void eightBranchesDiverge_noneSeesAnother() throws Exception {
        try (SandboxSession parent = FIXTURE.open("parent")) {
            Workload.run(parent, Workload.TURNS, line -> {});
            parent.journal()
                    .append("chat", JsonNodeFactory.instance.objectNode().put("said", "after the end"));
            List<SandboxSession> branches = parent.branch(2, BRANCHES);
            try {
                assertThat(branches)
                        .extracting(SandboxSession::id)
                        .containsExactly(
                                "parent-b1",
                                "parent-b2",
                                "parent-b3",
                                "parent-b4",
                                "parent-b5",
                                "parent-b6",
                                "parent-b7",
                                "parent-b8");
                for (SandboxSession branch : branches) {
                    Workload.assertStateAfter(branch, 2);
                }
                sideBySide(branches);
                for (int i = 0; i < BRANCHES; i++) {
                    assertOwn(branches.get(i), i);
                }
                Workload.assertStateAfter(parent, Workload.TURNS);

                // Each can go back by itself, and be branched itself.
                branches.get(0).rollbackTo(2);
                Workload.assertStateAfter(branches.get(0), 2);
                try (SandboxSession grandchild =
                        branches.get(1).branch(3, List.of("grandchild")).get(0)) {
                    assertOwn(grandchild, 1);
                }
            } finally {
                branches.forEach(SandboxSession::close);
            }
            // Closed and opened again, each is where it was; and deleting one takes nothing from another.
            FIXTURE.runtime().delete("parent-b8");
            for (int i = 1; i < BRANCHES - 1; i++) {
                try (SandboxSession again = FIXTURE.runtime().resume("parent-b" + (i + 1))) {
                    assertOwn(again, i);
                }
            }
            assertThat(FIXTURE.stored("parent-b8")).isEmpty();
        }
    }

    private static void sideBySide(List<SandboxSession> branches) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(BRANCHES);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < BRANCHES; i++) {
                int number = i;
                running.add(threads.submit(() -> diverge(branches.get(number), number)));
            }
            for (Future<?> one : running) {
                one.get();
            }
        } finally {
            threads.shutdown();
        }
    }

    /** A file, a count in a service's memory, a port of the same number, a record of the journal: in each branch something else. */
    private static void diverge(SandboxSession branch, int number) {
        Turn turn = branch.beginTurn();
        branch.sandbox().writeFile("/srv/own", "branch " + number);
        for (int i = 0; i < number; i++) {
            SessionFixture.ask(branch.sandbox());
        }
        SessionFixture.run(
                branch.sandbox(),
                "cd /srv; echo server " + number + " > index.html;"
                        + " setsid python3 -m http.server --bind 127.0.0.1 8123 > /dev/null 2>&1 < /dev/null &");
        branch.sandbox().attributes().put("own", Integer.toString(number));
        branch.journal().append("chat", JsonNodeFactory.instance.objectNode().put("said", "by " + number));
        assertThat(served(branch)).isEqualTo("server " + number);
        turn.commit(SessionFixture.position(100 + number));
    }

    private static void assertOwn(SandboxSession branch, int number) {
        assertThat(branch.sandbox().readFile("/srv/own", 100)).asString().isEqualTo("branch " + number);
        assertThat(SessionFixture.peek(branch.sandbox())).isEqualTo(1 + number);
        assertThat(served(branch)).isEqualTo("server " + number);
        assertThat(branch.sandbox().attributes()).containsEntry("own", Integer.toString(number));
        Commit last = Objects.requireNonNull(branch.lastCommit());
        assertThat(last.turn()).isEqualTo(3);
        assertThat(last.position().path("message").asInt()).isEqualTo(100 + number);
        assertThat(FIXTURE.runtime().archive(branch.id()).records())
                .filteredOn(record -> record.kind().equals("chat"))
                .extracting(record -> record.body().path("said").asText())
                .containsExactly("by " + number);
    }

    private static String served(SandboxSession branch) {
        return SessionFixture.run(branch.sandbox(), """
                python3 - <<'END'
                import time, urllib.request
                for attempt in range(200):
                    try:
                        print(urllib.request.urlopen("http://127.0.0.1:8123/index.html").read().decode())
                        break
                    except OSError:
                        time.sleep(0.05)
                END""");
    }

    @Test
    void copiesDifferInWhatMustDiffer_andAHookDoesTheRest() {
        try (SandboxSession parent = FIXTURE.open("original")) {
            commit(parent, """
                    mkdir -p /etc/crab/branch.d
                    printf '#!/bin/sh\necho "$CRAB_BRANCH of $CRAB_BRANCH_OF" >> /srv/hooked\n' > /etc/crab/branch.d/10-tell
                    echo 'exit 1' > /etc/crab/branch.d/20-not-executable
                    chmod +x /etc/crab/branch.d/10-tell
                    mkdir /etc/crab/branch.d/30-directory
                    mkfifo -m 755 /etc/crab/branch.d/40-fifo
                    setsid sleep 1000 > /dev/null 2>&1 < /dev/null &""");
            parent.sandbox().shell("main").run("cd /srv; own=1");
            commit(parent, "true");
            List<SandboxSession> branches = parent.branch(2, List.of("copy_one", "copy-two"));
            assertIdentity(branches.get(0), "copy_one", "copy-one");
            assertIdentity(branches.get(1), "copy-two", "copy-two");
            branches.forEach(SandboxSession::close);
            // Nothing of it was committed: it is done again.
            try (SandboxSession again = FIXTURE.runtime().resume("copy_one")) {
                assertIdentity(again, "copy_one", "copy-one");
                commit(again, "echo more > /srv/more");
                again.rollbackTo(2);
                assertIdentity(again, "copy_one", "copy-one");
                commit(again, "echo more > /srv/more; setsid sleep 999 > /dev/null 2>&1 < /dev/null &");
            }
            try (SandboxSession committed = FIXTURE.runtime().resume("copy_one")) {
                assertThat(committed.turns()).hasSize(3);
                assertIdentity(committed, "copy_one", "copy-one");
                try (SandboxSession twig = committed.branch(3, List.of("twig")).get(0)) {
                    assertThat(SessionFixture.run(twig.sandbox(), "tail -n 1 /srv/hooked"))
                            .isEqualTo("twig of copy_one");
                    assertThat(SessionFixture.run(twig.sandbox(), "hostname; echo $CRAB_BRANCH"))
                            .isEqualTo("twig\ntwig");
                }
            }
            assertThat(SessionFixture.run(parent.sandbox(), "hostname; echo \"[$CRAB_BRANCH]\"; ls /srv /etc/crab"))
                    .startsWith("sandbox\n[]\n")
                    .doesNotContain("hooked")
                    .doesNotContain("branch\n");
        }
    }

    private static void commit(SandboxSession session, String command) {
        Turn turn = session.beginTurn();
        SessionFixture.run(session.sandbox(), command);
        turn.commit(SessionFixture.position(turn.number()));
    }

    private static void assertIdentity(SandboxSession branch, String name, String host) {
        assertThat(SessionFixture.run(
                        branch.sandbox(), "cat /etc/crab/branch /srv/hooked; hostname; echo $CRAB_BRANCH"))
                .isEqualTo(name + "\n" + name + " of original\n" + host + "\n" + name);
        assertThat(branch.sandbox()
                        .shell("main")
                        .run("echo $CRAB_BRANCH $own $PWD")
                        .out()
                        .strip())
                .isEqualTo(name + " 1 /srv");
    }

    @Test
    void hookThatFails_noBranchIsLeft() {
        try (SandboxSession parent = FIXTURE.open("hooks")) {
            commit(
                    parent,
                    "mkdir -p /etc/crab/branch.d; printf '#!/bin/sh\nexit 7\n' > /etc/crab/branch.d/x; chmod +x /etc/crab/branch.d/x");
            assertThatThrownBy(() -> parent.branch(1, 2))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e).hasMessageContaining("branch.d/x: exit code 7"));
            assertThat(FIXTURE.runtime().sessions()).noneMatch(name -> name.startsWith("hooks-"));
            assertThat(FIXTURE.runtime().collectGarbage(true).garbage())
                    .noneMatch(garbage -> garbage.session().startsWith("hooks"));
        }
    }

    @Test
    void nameThatIsTaken_refused_andNoBranchIsLeft() {
        try (SandboxSession parent = FIXTURE.open("taken")) {
            Workload.run(parent, 2, line -> {});
            assertThatThrownBy(() -> parent.branch(1, List.of("fresh", "taken")))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NAME_TAKEN));
            assertThat(FIXTURE.runtime().sessions()).doesNotContain("fresh");
            assertThat(FIXTURE.stored("fresh")).isEmpty();
            Workload.assertStateAfter(parent, 2);
        }
    }

    @Test
    void turnThatSavedNothing_isBranchedFromTheImage() {
        try (SandboxSession parent = FIXTURE.open("nothing")) {
            Turn turn = parent.beginTurn();
            SessionFixture.run(parent.sandbox(), "true");
            turn.commit(SessionFixture.position(1));
            assertThat(parent.turns().get(0).commit().generation()).isZero();
            try (SandboxSession branch = parent.branch(1, 1).get(0)) {
                assertThat(SessionFixture.run(branch.sandbox(), "echo here")).isEqualTo("here");
                assertThat(branch.turns()).hasSize(1);
            }
        }
    }

    @Test
    void branchedByTwoAtOnce_eachHasNamesOfItsOwn() throws Exception {
        try (SandboxSession parent = FIXTURE.open("twice")) {
            Turn turn = parent.beginTurn();
            parent.sandbox().writeFile("/srv/file", "1");
            turn.commit(SessionFixture.position(1));
            CompletableFuture<List<SandboxSession>> beside = CompletableFuture.supplyAsync(() -> parent.branch(1, 2));
            List<SandboxSession> all = new ArrayList<>(parent.branch(1, 2));
            all.addAll(beside.get());
            assertThat(all)
                    .extracting(SandboxSession::id)
                    .doesNotHaveDuplicates()
                    .hasSize(4);
            all.forEach(SandboxSession::close);
            assertThatThrownBy(() -> parent.branch(1, List.of()))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NAME_INVALID));
        }
    }
}
