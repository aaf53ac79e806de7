package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.crab.runtime.libbpf.BpfObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TracepointInspectorTest extends TurnInspectorSuite {
    @Override
    TurnInspector open() {
        return new TracepointInspector();
    }

    private Programs programs() {
        return ((TracepointInspector) inspector).programs();
    }

    @Test
    void processMovedOutOfTheCgroup_isFull() throws IOException {
        prepare("K idle");
        Path cgroup = sandbox.cgroup();
        Path elsewhere = Files.createDirectories(cgroup.resolveSibling(cgroup.getFileName() + "-elsewhere"));
        long pid = Files.readAllLines(cgroup.resolve("cgroup.procs")).stream()
                .mapToLong(Long::parseLong)
                .filter(number -> number != sandbox.target().initPid())
                .findFirst()
                .orElseThrow();
        watch.begin();
        Files.writeString(elsewhere.resolve("cgroup.procs"), Long.toString(pid));
        TurnEffects effects = watch.judge();
        Files.writeString(cgroup.resolve("cgroup.procs"), Long.toString(pid));
        await().pollInterval(2, TimeUnit.MILLISECONDS)
                .until(() ->
                        Files.readAllLines(elsewhere.resolve("cgroup.procs")).isEmpty());
        Files.delete(elsewhere);
        assertThat(effects.effect()).isEqualTo(Effect.FULL);
        assertThat(effects.reasons()).extracting(EffectReason::rule).contains("left-cgroup", "process-set-differs");
    }

    @Test
    void moreObjectsThanTheMapHolds_isFull() {
        prepare("mkdir many; for i in $(seq 17000); do echo many/$i; done > /scene/names");
        watch.begin();
        sandbox.run(
                shell(
                        "/usr/bin/python3 -c 'for n in open(\"/scene/names\"):\n open(n.strip(), \"w\").write(\"x\")'; rm -r many"));
        TurnEffects effects = watch.judge();
        assertThat(effects.effect()).isEqualTo(Effect.FULL);
        assertThat(effects.reasons()).extracting(EffectReason::rule).contains("overflow");
    }

    /**
     * Each line names a hook and a kind of turn that only it tells apart: without it, the suite's test would fail. docs/inspector.md says why
     * the others are there all the same.
     */
    @ParameterizedTest
    @CsvSource({
        "on_sys_exit, chmod_isFiles",
        "on_sys_exit, dataLeftInFifo_isProcesses",
        "on_sys_exit, priorityOfSurvivor_isProcesses",
        "on_sys_exit, sharedMemoryLeft_isProcesses",
        "on_sys_exit, unlistedCall_isFull",
        "on_switch, survivorRan_isProcesses",
        "on_switch, survivorWritesSharedMappingAgain_isFull",
        "on_signal, signalPending_isProcesses",
        "on_data_ready, datagramLeft_isProcesses",
    })
    void withoutHook_theTurnIsMissed(String hook, String name) {
        TurnKind kind = TurnKind.all().stream()
                .filter(candidate -> candidate.name().equals(name))
                .findFirst()
                .orElseThrow();
        without(hook, () -> assertThat(judge(kind).effect()).isNotEqualTo(kind.effect()));
    }

    @Test
    void processBornInTheTurnAndMovedOut_isSeenByOneHookOnly() {
        Runnable moveOut = () -> {
            Path cgroup = sandbox.cgroup();
            Path elsewhere = cgroup.resolveSibling(cgroup.getFileName() + "-born");
            prepare("");
            watch.begin();
            try {
                Files.createDirectories(elsewhere);
                sandbox.run("sleep 1000 > /dev/null 2>&1 &");
                long pid = Files.readAllLines(cgroup.resolve("cgroup.procs")).stream()
                        .mapToLong(Long::parseLong)
                        .filter(number -> number != sandbox.target().initPid())
                        .findFirst()
                        .orElseThrow();
                Files.writeString(elsewhere.resolve("cgroup.procs"), Long.toString(pid));
                TurnEffects effects = watch.judge();
                ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
                await().pollInterval(2, TimeUnit.MILLISECONDS)
                        .until(() -> Files.readAllLines(elsewhere.resolve("cgroup.procs"))
                                .isEmpty());
                Files.delete(elsewhere);
                judgedOfMove = effects;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        };
        moveOut.run();
        assertThat(judgedOfMove.reasons())
                .extracting(EffectReason::rule)
                .contains("left-cgroup")
                .doesNotContain("process-set-differs");
        without("on_cgroup_attach", moveOut);
        assertThat(judgedOfMove.effect()).isEqualTo(Effect.NONE);
    }

    private TurnEffects judgedOfMove = TurnEffects.of(List.of());

    /** Does it under an inspector that lacks that hook. */
    private void without(String hook, Runnable action) {
        TurnInspector whole = inspector;
        TurnInspector.Watch wholeWatch = watch;
        try (TracepointInspector maimed = new TracepointInspector(FilePolicy.EVERYTHING, Set.of(hook));
                TurnInspector.Watch maimedWatch = maimed.watch(sandbox.target())) {
            inspector = maimed;
            watch = maimedWatch;
            action.run();
        } finally {
            inspector = whole;
            watch = wholeWatch;
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ls -l f >/dev/null 2>/dev/null | false",
                ": > n | true",
                ": >> f | true",
                ": <> p | false",
                // with a thread beside it, which could have put the device in a new file's place
                "python3 -c 'import os, threading; e = threading.Event(); t = threading.Thread(target=e.wait); t.start();"
                        + " os.open(\"/dev/null\", os.O_WRONLY + os.O_CREAT); e.set()' | true",
            })
    void openingToWrite_nominatesFiles_whereOneMayHaveBeenMade(String line, boolean nominates) throws IOException {
        prepare("echo x > f; mkfifo p");
        long cgroup = (Long) Files.getAttribute(sandbox.cgroup(), "unix:ino");
        watch.begin();
        long since = programs().advance();
        sandbox.run(shell(line));
        Programs.Seen seen = Objects.requireNonNull(programs().seen(cgroup, since, since));
        watch.judge();
        assertThat(seen.marks().stream().anyMatch(KernelMark::nominatesFiles)).isEqualTo(nominates);
    }

    /** The kernel leaves a program out where it is just running on that processor; here the count alone is made to say so. */
    @Test
    void runThatTheKernelLeftOut_isFullUntilTheStateWasSaved() throws IOException {
        assertThat(programs().missedRuns()).isNotNegative();
        prepare("");
        watch.close();
        AtomicLong missed = new AtomicLong(7);
        try (TracepointWatch counting = new TracepointWatch(
                programs(),
                sandbox.target(),
                FilePolicy.EVERYTHING,
                missed::get,
                new TouchedObjects(programs(), sandbox.target().cgroup()),
                closed -> {})) {
            counting.begin();
            assertThat(counting.judge().effect()).isEqualTo(Effect.NONE);
            counting.rebase();
            counting.begin();
            missed.incrementAndGet();
            for (int i = 0; i < 2; i++) {
                TurnEffects effects = counting.judge();
                assertThat(effects.effect()).isEqualTo(Effect.FULL);
                assertThat(effects.reasons()).extracting(EffectReason::rule).containsExactly("inspection-failed");
            }
            sandbox.frozen(counting::rebase);
            counting.begin();
            assertThat(counting.judge().effect()).isEqualTo(Effect.NONE);
        } finally {
            watch = inspector.watch(sandbox.target());
        }
    }

    @Test
    void layoutsAndNames_areThoseOfTheObject() {
        BpfObject object = programs().object();
        assertThat(object.enumeration("mark").keySet())
                .containsAll(Arrays.stream(KernelMark.values())
                        .map(mark -> "MARK_" + mark.name())
                        .toList())
                .hasSize(KernelMark.values().length + 1);
        assertThat(object.enumeration("call_class").keySet())
                .containsAll(Arrays.stream(SystemCalls.CallClass.values())
                        .map(kind -> "CLASS_" + kind.name())
                        .toList())
                .hasSize(SystemCalls.CallClass.values().length + 1);
        assertThat(object.structure("sandbox").offset("init_tgid")).isEqualTo(KernelMark.values().length * Long.BYTES);
        assertThat(object.structure("object").size()).isEqualTo(16);
        assertThat(object.map("survivors").newValue().capacity())
                .isEqualTo(object.structure("survivor").size());
        assertThat(object.map("threads").newValue().capacity())
                .isEqualTo(object.structure("thread").size());
    }

    @Test
    void inspectorAndWatch_closedAtTheSameTime_waitForOneAnotherOnlyOneWay() throws Exception {
        TracepointInspector other = new TracepointInspector();
        TurnInspector.Watch closing = other.watch(sandbox.target());
        Thread closer = new Thread(other::close, "closer");
        synchronized (closing) { // as its own close() does
            closer.start();
            await().until(() -> closer.getState() == Thread.State.BLOCKED);
            CompletableFuture.runAsync(() -> other.expect(sandbox.cgroup()).close())
                    .handle((nothing, refused) -> true)
                    .get(1, TimeUnit.MINUTES);
            closing.close();
        }
        closer.join(60_000);
        assertThat(closer.isAlive()).isFalse();
    }

    @Test
    void watch_outsideOfCrabsPlaceInTheHierarchy_isRefused() {
        InspectionTarget target = sandbox.target();
        InspectionTarget elsewhere = new InspectionTarget(
                "test", target.cgroup().resolve("deeper"), target.initPid(), target.upper(), target.lower(), null);
        assertThatThrownBy(() -> inspector.watch(elsewhere)).isInstanceOf(IllegalArgumentException.class);
    }
}
