package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.ask;
import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static dev.crab.runtime.session.SessionFixture.spec;
import static dev.crab.runtime.session.SessionFixture.startCounter;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.TurnOutcome.Saved;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A session's contract, case by case; long because they share one data directory, which takes seconds to make. */
class SandboxSessionTest {
    private static SessionFixture fixture;
    private static int sessions;

    private final String id = "s" + ++sessions;

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

    @Test
    void newSession_isFreshAndAnIdleTurnSavesNothing() {
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.recovery()).isEqualTo(new Recovery.Fresh());
            assertThat(session.lastCommit()).isNull();
            Turn turn = session.beginTurn();
            assertThat(turn.number()).isEqualTo(1);
            run(session.sandbox(), "true");
            TurnOutcome outcome = turn.commit(position(7));
            assertThat(outcome.effects().reasons()).isEmpty();
            assertThat(outcome.saved()).isEqualTo(Saved.NOTHING);
            assertThat(outcome.bytesWritten()).isPositive();
            assertThat(outcome.commit()).isEqualTo(new Commit(1, 0, 0, 0, Effect.NONE, position(7)));
            assertThat(session.lastCommit()).isEqualTo(outcome.commit());
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.recovery()).isInstanceOfSatisfying(Recovery.Restored.class, restored -> {
                assertThat(restored.commit().position().path("message").asLong())
                        .isEqualTo(7);
                assertThat(restored.processesRestored()).isZero();
                assertThat(restored.lost()).isEmpty();
            });
            assertThat(session.beginTurn().number()).isEqualTo(2);
        }
        assertThat(fixture.stored(id)).isEmpty();
    }

    @Test
    void files_comeBackAsCommittedAndWhatCameLaterIsGone() {
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            session.sandbox().writeFile("/srv/kept", "first".getBytes(StandardCharsets.UTF_8));
            TurnOutcome outcome = turn.commit(position(1));
            assertThat(outcome.effects().effect()).isEqualTo(Effect.FILES);
            assertThat(outcome.saved()).isEqualTo(Saved.FILES);
            assertThat(outcome.commit().processGeneration()).isZero();
            session.beginTurn();
            run(session.sandbox(), "echo second > /srv/kept; touch /srv/later");
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), "cat /srv/kept; echo; ls /srv")).isEqualTo("first\nkept");
        }
    }

    @Test
    void memoryOfAProcess_comesBackAgainAndAgain() {
        String pid;
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            pid = startCounter(session.sandbox());
            TurnOutcome outcome = turn.commit(position(1));
            assertThat(outcome.saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
            assertThat(ask(session.sandbox())).as("runs on").isEqualTo(2);
        }
        for (int cycle = 1; cycle <= 3; cycle++) {
            try (SandboxSession session = fixture.open(id)) {
                assertThat(session.recovery())
                        .isInstanceOfSatisfying(
                                Recovery.Restored.class,
                                restored ->
                                        assertThat(restored.processesRestored()).isEqualTo(2));
                Turn turn = session.beginTurn();
                assertThat(ask(session.sandbox())).as("cycle %d", cycle).isEqualTo(cycle + 1);
                assertThat(run(session.sandbox(), "cat /proc/" + pid + "/comm")).isEqualTo("python3");
                TurnOutcome outcome = turn.commit(position(cycle + 1));
                assertThat(outcome.saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
                ask(session.sandbox());
                ask(session.sandbox());
            }
        }
    }

    @Test
    void attributes_comeBackByValueEvenIfNothingElseChanged() {
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            session.sandbox().attributes().put("a", "1");
            session.sandbox().attributes().put("b", "2");
            first.commit(position(1));
            Turn second = session.beginTurn();
            session.sandbox().attributes().remove("a");
            session.sandbox().attributes().put("c", "3");
            assertThat(second.commit(position(2)).saved()).isEqualTo(Saved.NOTHING);
            session.sandbox().attributes().put("d", "4");
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.sandbox().attributes())
                    .containsOnlyKeys("b", "c")
                    .containsEntry("c", "3");
        }
    }

    @Test
    void filesBesideAnIdleProcess_needNoNewDump() {
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            String pid = run(session.sandbox(), "setsid sleep infinity >/dev/null 2>&1 </dev/null & echo $!");
            long dump = first.commit(position(1)).commit().processGeneration();
            Turn second = session.beginTurn();
            session.sandbox().writeFile("/srv/file", new byte[] {1});
            TurnOutcome outcome = second.commit(position(2));
            assertThat(outcome.saved()).as("%s", outcome.effects()).isEqualTo(Saved.FILES);
            assertThat(outcome.commit().processGeneration()).isEqualTo(dump);
            assertThat(outcome.commit().fileGeneration()).isGreaterThan(dump);
            run(session.sandbox(), "kill " + pid);
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), "pgrep -c sleep; ls /srv")).isEqualTo("1\nfile");
        }
    }

    @Test
    void processThatOnlyWokeAndIsAsItWas_costsNoSecondDump() {
        try (SandboxSession session = fixture.open(id)) {
            run(
                    session.sandbox(),
                    // poll(0, 0, 20), which keeps no time of its own in memory
                    "setsid perl -e 'syscall(7, 0, 0, 20) while 1' >/dev/null 2>&1 </dev/null & sleep 0.5");
            TurnOutcome first = session.beginTurn().commit(position(1));
            assertThat(first.saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
            int dropped = 0;
            for (int i = 0; i < 5; i++) {
                Turn turn = session.beginTurn();
                run(session.sandbox(), "sleep 0.1");
                TurnOutcome outcome = turn.commit(position(2 + i));
                assertThat(outcome.effects().effect())
                        .as(outcome.effects().toString())
                        .isEqualTo(Effect.PROCESSES);
                if (outcome.saved() == Saved.FILES) {
                    dropped++;
                    assertThat(outcome.commit().processGeneration())
                            .isLessThan(outcome.commit().generation());
                }
            }
            // Caught awake, in the middle of its loop, it does differ.
            assertThat(dropped).isPositive();
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), "pgrep -c perl").strip()).isEqualTo("1");
        }
    }

    @Test
    void processThatChangedOneByteOfItsMemory_isDumpedAgain() {
        try (SandboxSession session = fixture.open(id)) {
            startCounter(session.sandbox());
            session.beginTurn().commit(position(1));
            for (int i = 1; i <= 3; i++) {
                Turn turn = session.beginTurn();
                ask(session.sandbox());
                assertThat(turn.commit(position(1 + i)).saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
            }
        }
    }

    @Test
    void ipcObjectWithoutAProcess_comesBackAlsoAfterATurnOfFiles() {
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            run(session.sandbox(), "ipcmk -M 4096");
            assertThat(first.commit(position(1)).saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
            Turn second = session.beginTurn();
            session.sandbox().writeFile("/srv/file", new byte[] {1});
            second.commit(position(2));
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), "ipcs -m | grep -c ' 4096 '; ls /srv"))
                    .isEqualTo("1\nfile");
        }
    }

    @Test
    void turns_doNotOverlapAndEndOnce() {
        SandboxSession session = fixture.open(id);
        Turn turn = session.beginTurn();
        assertCode(ErrorCode.STATE_INVALID, session::beginTurn);
        turn.commit(position(1));
        assertCode(ErrorCode.STATE_INVALID, () -> turn.commit(position(1)));
        turn.abandon();
        Turn next = session.beginTurn();
        next.abandon();
        next.abandon();
        assertCode(ErrorCode.STATE_INVALID, () -> next.commit(position(2)));
        session.beginTurn();
        session.close();
        session.close();
        assertCode(ErrorCode.STATE_INVALID, session::beginTurn);
    }

    @Test
    void abandonedTurn_isPartOfTheNext() {
        try (SandboxSession session = fixture.open(id)) {
            Turn abandoned = session.beginTurn();
            session.sandbox().writeFile("/srv/file", new byte[] {1});
            abandoned.abandon();
            Turn next = session.beginTurn();
            assertThat(next.number()).isEqualTo(abandoned.number());
            assertThat(next.commit(position(1)).effects().effect()).isEqualTo(Effect.FILES);
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), "ls /srv")).isEqualTo("file");
        }
    }

    @Test
    void commitWhileACommandRuns_isRefusedAndCanBeTriedAgain() {
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            CompletableFuture<String> command = CompletableFuture.supplyAsync(() -> run(
                    session.sandbox(), "touch /srv/started; while [ ! -e /srv/end ]; do sleep 0.01; done; echo ended"));
            Awaitility.await().until(() -> session.sandbox().listFiles("/srv").size() == 1);
            assertThatThrownBy(() -> turn.commit(position(1))).isInstanceOf(CrabException.class);
            assertThat(session.lastCommit()).isNull();
            session.sandbox().writeFile("/srv/end", new byte[0]);
            assertThat(command.join()).isEqualTo("ended");
            turn.commit(position(1));
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(run(session.sandbox(), "ls /srv")).isEqualTo("end\nstarted");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "capture.begin",
                "capture.dumped",
                "capture.snapshotted",
                "persist.packed",
                "persist.objects",
                "manifest.temp",
                "commit.before"
            })
    void failedCommit_leavesTheTurnOpenAndLosesNoEffect(String point) {
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            startCounter(session.sandbox());
            session.sandbox().writeFile("/srv/file", new byte[] {1});
            boolean[] reached = new boolean[1];
            FaultPoints.handler((name, times) -> {
                if (name.equals(point)) {
                    reached[0] = true;
                    throw CrabException.of(ErrorCode.IO_FAILED, "the test", "stops here", "none");
                }
            });
            assertThatThrownBy(() -> first.commit(position(1))).isInstanceOf(CrabException.class);
            FaultPoints.handler(null);
            assertThat(reached[0]).isTrue();
            assertThat(session.lastCommit()).isNull();
            assertThat(fixture.stored(id)).as("nothing is left of the attempt").isEmpty();
            assertThat(ask(session.sandbox())).as("the sandbox runs on").isEqualTo(2);

            TurnOutcome outcome = first.commit(position(2));
            assertThat(outcome.saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(ask(session.sandbox())).isEqualTo(3);
            assertThat(session.sandbox().readFile("/srv/file", 10)).containsExactly(1);
        }
    }

    @Test
    void failureAfterTheBaselineMoved_isMadeUpForByTheNextCommitThoughNothingHappenedMeanwhile() {
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            session.sandbox().writeFile("/srv/file", new byte[] {1});
            FaultPoints.handler((name, times) -> {
                if (name.equals("commit.before")) {
                    throw CrabException.of(ErrorCode.IO_FAILED, "the test", "stops here", "none");
                }
            });
            assertThatThrownBy(() -> turn.commit(position(1))).isInstanceOf(CrabException.class);
            FaultPoints.handler(null);
            assertThat(turn.commit(position(1)).effects().effect()).isEqualTo(Effect.FILES);
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.sandbox().readFile("/srv/file", 10)).containsExactly(1);
        }
    }

    @Test
    void requestOfAnotherThreadInTheMiddleOfACapture_isPartOfTheNextTurn() throws Exception {
        try (SandboxSession session = fixture.open(id)) {
            List<CompletableFuture<Void>> late = new CopyOnWriteArrayList<>();
            Turn turn = session.beginTurn();
            run(session.sandbox(), "echo one > /root/one");
            FaultPoints.handler((name, times) -> {
                if (name.equals("capture.snapshotted") && times == 1) {
                    CompletableFuture<Void> write =
                            CompletableFuture.runAsync(() -> session.sandbox().writeFile("/root/late", new byte[] {1}));
                    late.add(write);
                    try {
                        write.get(500, TimeUnit.MILLISECONDS);
                    } catch (TimeoutException e) {
                        // It waits for the capture's end, which is what is wanted.
                    } catch (InterruptedException | ExecutionException e) {
                        throw new IllegalStateException(e);
                    }
                }
            });
            turn.commit(position(1));
            FaultPoints.handler(null);
            late.get(0).get();
            Turn next = session.beginTurn();
            assertThat(next.commit(position(2)).commit().effect()).isEqualTo(Effect.FILES);
        }
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.sandbox().readFile("/root/late", 10)).containsExactly(1);
        }
    }

    @Test
    void sessionOfAnotherRuntime_isLockedAndItsSandboxUnharmed() {
        try (SandboxSession session = fixture.open(id);
                CrabRuntime other =
                        CrabRuntime.builder().dataDirectory(fixture.data()).build()) {
            String pid = Long.toString(ProcessHandle.current().pid());
            assertThatThrownBy(() -> other.open(id, spec())).isInstanceOfSatisfying(CrabException.class, e -> {
                assertThat(e.code()).isEqualTo(ErrorCode.SESSION_LOCKED);
                assertThat(e.why()).contains(pid);
            });
            assertThat(run(session.sandbox(), "echo alive")).isEqualTo("alive");
        }
    }

    @Test
    void sameNameInAnotherDataDirectory_isAnotherSandbox() {
        try (SessionFixture other = new SessionFixture();
                SandboxSession here = fixture.open(id);
                SandboxSession there = other.open(id)) {
            here.sandbox().writeFile("/srv/here", new byte[0]);
            assertThat(there.sandbox().listFiles("/srv")).isEmpty();
        }
    }

    @Test
    void unknownSession_cannotBeResumed() {
        assertCode(ErrorCode.SESSION_UNKNOWN, () -> fixture.runtime().resume("nobody"));
        assertThat(fixture.runtime().sessions()).doesNotContain("nobody");
    }

    @Test
    void missingImage_isRefusedAndLeavesNoSessionThatCannotBeOpened() {
        assertCode(
                ErrorCode.IMAGE_NOT_FOUND,
                () -> fixture.runtime()
                        .open(id, spec().withImage(new SandboxImage.Directory(Path.of("/nonexistent/image")))));
        assertThat(fixture.runtime().sessions()).doesNotContain(id);
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.recovery()).isEqualTo(new Recovery.Fresh());
        }
    }

    @Test
    void otherSpecOnAnExistingSession_isIgnored() {
        try (SandboxSession session = fixture.open(id)) {
            session.beginTurn().commit(position(1));
        }
        try (SandboxSession session = fixture.runtime().open(id, spec().withPidLimit(17))) {
            assertThat(session.sandbox().exec("true").isSuccess()).isTrue();
        }
        assertThat(fixture.runtime().archive(id).spec().path("pidLimit").asInt())
                .isEqualTo(spec().pidLimit());
    }

    @Test
    void positionBeyondItsBound_isRefusedAndTheTurnGoesOn() {
        try (SandboxSession session = fixture.open(id)) {
            Turn turn = session.beginTurn();
            assertCode(
                    ErrorCode.LIMIT_EXCEEDED,
                    () -> turn.commit(position(1).put("text", "x".repeat(TurnCommitter.POSITION_LIMIT))));
            turn.commit(position(1));
        }
    }

    @Test
    void sandboxWithoutPid1_isLostAndComesBackByOpeningAgain() throws IOException {
        SandboxSession session = fixture.open(id);
        Turn first = session.beginTurn();
        session.sandbox().writeFile("/srv/file", new byte[] {1});
        first.commit(position(1));
        Turn second = session.beginTurn();
        String sandboxId = fixture.runtime().data().sandbox(id);
        Path kill = Path.of("/sys/fs/cgroup/unified/crab", sandboxId, "cgroup.kill");
        Files.writeString(Files.exists(kill) ? kill : Path.of("/sys/fs/cgroup/crab", sandboxId, "cgroup.kill"), "1");
        Awaitility.await()
                .untilAsserted(() ->
                        assertThatThrownBy(() -> session.sandbox().exec("true")).isInstanceOf(CrabException.class));
        assertCode(ErrorCode.SANDBOX_LOST, () -> second.commit(position(2)));
        session.close();
        try (SandboxSession again = fixture.open(id)) {
            assertThat(again.sandbox().readFile("/srv/file", 10)).containsExactly(1);
        }
    }

    @Test
    void whatHappensBetweenTurns_belongsToTheNext() {
        try (SandboxSession session = fixture.open("between")) {
            Turn first = session.beginTurn();
            run(session.sandbox(), "touch -d 2001-01-01 /srv/empty /srv/mode; chmod 600 /srv/mode");
            first.commit(position(1));
            // Nothing of this dirties a page, and nobody who did it is left.
            run(session.sandbox(), ": >/srv/empty; chmod 640 /srv/mode");
            Turn second = session.beginTurn();
            assertThat(second.commit(position(2)).saved()).isEqualTo(Saved.FILES);
        }
        try (SandboxSession session = fixture.open("between")) {
            assertThat(run(session.sandbox(), "stat -c '%a %y' /srv/mode /srv/empty | cut -c1-8"))
                    .doesNotContain("600")
                    .contains("640 2001")
                    .doesNotContain("644 2001");
        }
    }

    @Test
    void whatHappensAfterACommitThatFailed_isSavedByTheNextAttempt() {
        try (SandboxSession session = fixture.open("again")) {
            Turn first = session.beginTurn();
            run(session.sandbox(), "touch -d 2001-01-01 /srv/empty");
            first.commit(position(1));
            Turn second = session.beginTurn();
            var tooLong = position(2).put("text", "x".repeat(TurnCommitter.POSITION_LIMIT));
            assertThatThrownBy(() -> second.commit(tooLong)).isInstanceOf(CrabException.class);
            FaultPoints.handler((name, times) -> {
                if (name.equals("commit.before")) {
                    throw CrabException.io("the test", new java.io.IOException("Input/output error"));
                }
            });
            try {
                assertThatThrownBy(() -> second.commit(position(2))).isInstanceOf(CrabException.class);
            } finally {
                FaultPoints.handler(null);
            }
            run(session.sandbox(), ": >/srv/empty");
            assertThat(second.commit(position(2)).saved()).isEqualTo(Saved.FILES);
        }
    }

    @Test
    void memoryOfWhichLittleChanged_costsLittle() {
        String program = """
                import os, signal
                memory = bytearray(os.urandom(100 << 20))
                def change(*_):
                    for page in range(0, 100 << 8, 100):
                        memory[page << 12] ^= 1
                    open('/srv/changed', 'w').close()
                signal.signal(signal.SIGUSR1, change)
                with open('/srv/pid', 'w') as file: file.write(str(os.getpid()))
                open('/srv/ready', 'w').close()
                while True: signal.pause()
                """;
        try (SandboxSession session = fixture.open("large")) {
            session.sandbox().writeFile("/srv/program.py", program);
            Turn first = session.beginTurn();
            run(
                    session.sandbox(),
                    "setsid python3 /srv/program.py >/dev/null 2>&1 </dev/null & until [ -e /srv/ready ]; do sleep 0.05; done");
            long whole = first.commit(position(1)).bytesWritten();
            assertThat(whole).isGreaterThan(100 << 20);
            Turn second = session.beginTurn();
            run(session.sandbox(), "kill -USR1 $(cat /srv/pid); until [ -e /srv/changed ]; do sleep 0.05; done");
            TurnOutcome outcome = second.commit(position(2));
            assertThat(outcome.saved()).isEqualTo(Saved.PROCESSES_AND_FILES);
            assertThat(outcome.bytesWritten()).isLessThan(whole * 3 / 100);
        }
        try (SandboxSession session = fixture.open("large")) {
            run(
                    session.sandbox(),
                    "rm /srv/changed; kill -USR1 $(cat /srv/pid); until [ -e /srv/changed ]; do sleep 0.05; done");
        }
    }

    @Test
    void oldGenerations_goWhenNothingNeedsThemAndTheDumpStaysThatIsStillUsed() {
        try (SessionFixture small = new SessionFixture(SessionFixture.temporary(), 2)) {
            try (SandboxSession session = small.open(id)) {
                Turn first = session.beginTurn();
                run(session.sandbox(), "setsid sleep infinity >/dev/null 2>&1 </dev/null & echo $!");
                first.commit(position(1));
                for (int i = 2; i <= 5; i++) {
                    Turn turn = session.beginTurn();
                    session.sandbox().writeFile("/srv/file", new byte[] {(byte) i});
                    assertThat(turn.commit(position(i)).saved()).isEqualTo(Saved.FILES);
                }
                Awaitility.await()
                        .untilAsserted(() -> assertThat(small.stored(id)).hasSize(7));
                List<String> stored = small.stored(id);
                assertThat(stored).contains("4.json", "5.json", "snapshot " + id + ".g4", "snapshot " + id + ".g5");
            }
            try (SandboxSession session = small.open(id)) {
                assertThat(session.sandbox().readFile("/srv/file", 10)).containsExactly(5);
                assertThat(run(session.sandbox(), "pgrep -c sleep")).isEqualTo("1");
            }
        }
    }

    private static void assertCode(ErrorCode code, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(code));
    }
}
