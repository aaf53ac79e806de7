package dev.crab.runtime.engine;

import static dev.crab.runtime.engine.EngineFixture.NO_HOOK;
import static dev.crab.runtime.engine.EngineFixture.hook;
import static dev.crab.runtime.engine.EngineFixture.newId;
import static dev.crab.runtime.engine.EngineFixture.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.criu.TestCriu;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxFixture;
import dev.crab.runtime.store.CheckpointImage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Checkpoints of real sandboxes: what is captured, and that it comes back. */
class CriuCheckpointEngineTest {
    private static EngineFixture fixture;
    private RunningSandbox sandbox;

    @BeforeAll
    static void open() throws IOException {
        fixture = new EngineFixture();
    }

    @AfterAll
    static void close() throws IOException {
        fixture.close();
    }

    @BeforeEach
    void start() {
        sandbox = fixture.start();
    }

    @AfterEach
    void destroy() {
        fixture.destroy(sandbox);
    }

    private void bringBack(CheckpointImage image) {
        String id = sandbox.id();
        fixture.destroy(sandbox);
        sandbox = fixture.restore(id, image).sandbox();
    }

    @Test
    void processesAndFiles_comeBackAsTheyWere() {
        run(sandbox, "mkdir -p /srv/app; echo one > /srv/app/state; touch -d 2001-02-03T04:05:06 /srv/app/old");
        run(sandbox, Programs.COUNTER);
        run(sandbox, Programs.HTTP_SERVER);
        run(sandbox, Programs.curl("/add?5") + "; " + Programs.curl("/add?7"));
        String pids = run(sandbox, Programs.PIDS);

        Captured captured = fixture.capture(sandbox, Effect.FULL, null, NO_HOOK);
        assertThat(captured.hasDump()).isTrue();
        assertThat(captured.freezeNanos()).isPositive().isLessThan(captured.captureNanos());
        CheckpointImage image = fixture.engine.persist(captured, 1).image();

        run(sandbox, Programs.curl("/add?100"));
        run(sandbox, "echo two > /srv/app/state; echo later > /srv/app/later; rm /srv/app/old");
        bringBack(image);

        assertThat(run(sandbox, Programs.PIDS)).isEqualTo(pids);
        assertThat(run(sandbox, "cat /srv/app/state")).isEqualTo("one");
        assertThat(run(sandbox, "ls /srv/app")).isEqualTo("old\nstate");
        assertThat(run(sandbox, "date -r /srv/app/old +%FT%T")).isEqualTo("2001-02-03T04:05:06");
        assertThat(run(sandbox, Programs.curl("/add?1"))).isEqualTo("13");
        String count = run(sandbox, Programs.COUNT);
        Awaitility.await().until(() -> !run(sandbox, Programs.COUNT).equals(count));
    }

    @Test
    void dumpOfARestoredSandbox_canBeRestored() {
        run(sandbox, Programs.HTTP_SERVER);
        String pids = run(sandbox, Programs.PIDS);
        CheckpointImage image = null;
        for (int cycle = 1; cycle <= 3; cycle++) {
            assertThat(run(sandbox, Programs.curl("/add?1"))).isEqualTo(Integer.toString(cycle));
            image = fixture.checkpoint(sandbox, Effect.FULL, image);
            bringBack(image);
            assertThat(run(sandbox, Programs.PIDS)).isEqualTo(pids);
        }
        assertThat(run(sandbox, Programs.curl("/add?0"))).isEqualTo("3");
    }

    @Test
    void allKindsOfDescriptors_comeBack() {
        run(sandbox, Programs.MANY_KINDS);
        String before = run(sandbox, Programs.ASK_MANY_KINDS);
        bringBack(fixture.checkpoint(sandbox, Effect.FULL, null));
        assertThat(run(sandbox, Programs.ASK_MANY_KINDS)).isEqualTo(before);
    }

    @Test
    void socketNamedLikeALineOfTheKernels_isOnlyASocket() {
        run(
                sandbox,
                "setsid python3 -c 'import socket, time; s = socket.socket(socket.AF_UNIX);"
                        + " s.bind(chr(0) + \"x\" + chr(10) + \"1: 2 3 zz 5 6 7\"); s.listen(); time.sleep(1000000)'"
                        + " >/dev/null 2>&1 </dev/null & until grep -qa zz /proc/net/unix; do :; done");
        String pids = run(sandbox, Programs.PIDS);
        bringBack(fixture.checkpoint(sandbox, Effect.FULL, null));
        assertThat(run(sandbox, Programs.PIDS)).isEqualTo(pids);
    }

    @Test
    void largeDeletedFile_comesBack() {
        run(
                sandbox,
                "exec 3<> /root/deleted; rm /root/deleted; head -c 100000000 /dev/urandom >&3;"
                        + " sha256sum < /proc/self/fd/3 > /root/sum; setsid sleep 1000000 > /dev/null 2>&1 < /dev/null &");
        bringBack(fixture.checkpoint(sandbox, Effect.FULL, null));
        String sum = run(sandbox, "sha256sum < /proc/$(pgrep sleep)/fd/3");
        assertThat(sum).isEqualTo(run(sandbox, "cat /root/sum"));
    }

    @Test
    void terminal_livesOn() {
        try (var pty = sandbox.pty("main")) {
            pty.type("secret=42\n");
            pty.read(java.time.Duration.ofMillis(300), java.time.Duration.ofSeconds(5));
        }
        bringBack(fixture.checkpoint(sandbox, Effect.FULL, null));
        try (var pty = sandbox.pty("main")) {
            pty.type("echo value is $((secret + 1))\n");
            StringBuilder seen = new StringBuilder();
            Awaitility.await()
                    .until(() -> seen.append(
                                    pty.read(java.time.Duration.ofMillis(200), java.time.Duration.ofSeconds(5)))
                            .toString()
                            .contains("value is 43"));
        }
    }

    @Test
    void onlyPid1_needsNoDumpAndNoFreeze() {
        run(sandbox, "echo one > /root/file");
        Captured captured = fixture.capture(sandbox, Effect.FULL, null, NO_HOOK);
        assertThat(captured.hasDump()).isFalse();
        assertThat(captured.freezeNanos()).isZero();
        CheckpointImage image = fixture.engine.persist(captured, 1).image();
        assertThat(image.processes()).isNull();
        run(sandbox, "echo two > /root/file");
        bringBack(image);
        assertThat(run(sandbox, "cat /root/file")).isEqualTo("one");
    }

    @Test
    void onlyPid1_isDumpedWhereThatIsAskedFor() {
        Captured captured =
                fixture.engine.capture(sandbox, new CheckpointPlan(newId(), Effect.FILES, true, null), NO_HOOK);
        assertThat(captured.hasDump()).isTrue();
        bringBack(fixture.engine.persist(captured, 1).image());
        assertThat(run(sandbox, "echo alive")).isEqualTo("alive");
    }

    @Test
    void filesOnly_arePairedWithTheDumpBefore() {
        run(sandbox, Programs.HTTP_SERVER);
        run(sandbox, Programs.curl("/add?5"));
        CheckpointImage first = fixture.checkpoint(sandbox, Effect.FULL, null);
        run(sandbox, "echo changed > /srv/file");
        Captured captured = fixture.capture(sandbox, Effect.FILES, first, NO_HOOK);
        assertThat(captured.hasDump()).isFalse();
        assertThat(captured.freezeNanos()).isPositive();
        CheckpointImage second = fixture.engine.persist(captured, 2).image();
        assertThat(second.processes()).isEqualTo(first.processes());
        assertThat(second.files().generation()).isEqualTo(2);
        bringBack(second);
        assertThat(run(sandbox, "cat /srv/file")).isEqualTo("changed");
        assertThat(run(sandbox, Programs.curl("/add?1"))).isEqualTo("6");
    }

    @Test
    void filesOnlyWithoutADumpBefore_becomeADump() {
        run(sandbox, Programs.HTTP_SERVER);
        Captured captured = fixture.capture(sandbox, Effect.FILES, null, NO_HOOK);
        assertThat(captured.hasDump()).isTrue();
        fixture.engine.discard(captured);
    }

    @Test
    void filesOnly_becomeADumpIfTheHookSaysSoUnderTheFreeze() {
        run(sandbox, Programs.HTTP_SERVER);
        CheckpointImage first = fixture.checkpoint(sandbox, Effect.FULL, null);
        List<String> calls = new ArrayList<>();
        FrozenHook hook = hook(Effect.FULL, () -> calls.add("taken"));
        Captured captured = fixture.capture(sandbox, Effect.FILES, first, hook);
        assertThat(captured.hasDump()).isTrue();
        assertThat(calls).containsExactly("taken");
        assertThat(run(sandbox, Programs.curl("/add?1"))).isEqualTo("1");
        bringBack(fixture.engine.persist(captured, 2).image());
        assertThat(run(sandbox, Programs.curl("/add?1"))).isEqualTo("1");
    }

    @Test
    void exceptionOfTheHook_comesOutAndTheSandboxRunsOn() {
        run(sandbox, Programs.HTTP_SERVER);
        CheckpointImage first = fixture.checkpoint(sandbox, Effect.FULL, null);
        List<String> snapshots = fixture.snapshotter.snapshots();
        FrozenHook failing = hook(Effect.NONE, () -> {
            throw new IllegalStateException("no");
        });
        for (Effect effect : List.of(Effect.FILES, Effect.FULL)) {
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> fixture.capture(sandbox, effect, first, failing));
            assertThat(run(sandbox, Programs.curl("/add?0"))).isEqualTo("0");
        }
        assertThat(fixture.snapshotter.snapshots()).containsExactlyInAnyOrderElementsOf(snapshots);
    }

    @Test
    void capture_isRefusedWithCriusReasonWhereAProcessCannotBeDumped() {
        // A process that traces another one: CRIU cannot take a tracee.
        run(sandbox, Programs.TRACER);
        List<String> snapshots = fixture.snapshotter.snapshots();
        refused(ErrorCode.CAPTURE_FAILED, "ptrace", () -> fixture.capture(sandbox, Effect.FULL, null, NO_HOOK));
        assertThat(run(sandbox, "echo alive")).isEqualTo("alive");
        assertThat(fixture.snapshotter.snapshots()).containsExactlyInAnyOrderElementsOf(snapshots);
    }

    @Test
    void criuKilledInMidDump_losesTheSandboxAndNothingElse() {
        run(sandbox, Programs.HTTP_SERVER);
        List<String> snapshots = fixture.snapshotter.snapshots();
        CheckpointImage before = fixture.checkpoint(sandbox, Effect.FULL, null);
        FaultPoints.handler((name, times) -> {
            if (name.equals("capture.dumped")) {
                ProcessHandle.current()
                        .children()
                        .filter(child -> child.info()
                                .command()
                                .orElse("")
                                .equals(TestCriu.binary().toString()))
                        .forEach(ProcessHandle::destroyForcibly);
            }
        });
        try {
            refused(
                    ErrorCode.SANDBOX_LOST,
                    "ended without an answer",
                    () -> fixture.capture(sandbox, Effect.FULL, before, NO_HOOK));
        } finally {
            FaultPoints.handler(null);
        }
        assertThat(fixture.snapshotter.snapshots()).hasSize(snapshots.size() + 1);
        bringBack(before);
        assertThat(run(sandbox, Programs.curl("/add?1"))).isEqualTo("1");
    }

    @Test
    void persist_thatFailedCanBeTriedAgain() {
        run(sandbox, Programs.HTTP_SERVER);
        Captured captured = fixture.capture(sandbox, Effect.FULL, null, NO_HOOK);
        FaultPoints.handler((name, times) -> {
            if (name.equals("persist.packed")) {
                throw new IllegalStateException("no");
            }
        });
        try {
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> fixture.engine.persist(captured, 1));
        } finally {
            FaultPoints.handler(null);
        }
        bringBack(fixture.engine.persist(captured, 2).image());
        assertThat(run(sandbox, Programs.curl("/add?1"))).isEqualTo("1");
    }

    @Test
    void discard_deletesTheSnapshotOnce() {
        Captured captured = fixture.capture(sandbox, Effect.FILES, null, NO_HOOK);
        assertThat(fixture.snapshotter.snapshots()).contains(captured.snapshot().id());
        fixture.engine.discard(captured);
        fixture.engine.discard(captured);
        assertThat(fixture.snapshotter.snapshots())
                .doesNotContain(captured.snapshot().id());
        assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> fixture.engine.persist(captured, 1));
    }

    @Test
    void restoreHook_isCalledBeforeAnythingRuns() {
        run(sandbox, Programs.COUNTER);
        CheckpointImage image = fixture.checkpoint(sandbox, Effect.FULL, null);
        String id = sandbox.id();
        fixture.destroy(sandbox);
        List<String> seen = new ArrayList<>();
        sandbox = fixture.restore(id, SandboxFixture.spec(), image, processes -> {
                    seen.add(processes.volume().id());
                    seen.add(frozen(processes.cgroup()));
                })
                .sandbox();
        assertThat(seen).containsExactly(id, "frozen 1");
        assertThat(frozen(sandbox.processes().cgroup())).isEqualTo("frozen 0");
    }

    private static String frozen(java.nio.file.Path cgroup) {
        try {
            return java.nio.file.Files.readAllLines(cgroup.resolve("cgroup.events")).stream()
                    .filter(line -> line.startsWith("frozen"))
                    .findAny()
                    .orElseThrow();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static void refused(ErrorCode code, String reason, ThrowingCallable call) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(call)
                .satisfies(e -> assertThat(e.code()).isEqualTo(code))
                .withMessageContaining(reason);
    }
}
