package dev.crab.runtime.criu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.ChildProcess;
import dev.crab.runtime.os.NetNamespace;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** CRIU on a plain tree of the host: one shell that counts in a file. */
class CriuClientTest {
    private static final Path NETWORK = Path.of("/proc/self/ns/net");

    @TempDir
    private Path directory;

    private CriuClient client;
    private Path cgroup;
    private ChildProcess shell;

    @BeforeEach
    void start() throws IOException {
        client = CriuClient.open(TestCriu.binary());
        cgroup = Files.createDirectory(TestCriu.cgroupV2().resolve("crab-test-" + System.nanoTime()));
        Path images = Files.createDirectory(directory.resolve("images"));
        assertThat(images).exists();
        // No child: its pid might linger as a zombie until the host's own pid 1 looks, and could then not be restored.
        String loop =
                "exec 9<> <(:); while :; do i=$((i+1)); echo $i >> " + directory + "/count; read -t 0.02 -u 9; done";
        shell = ChildProcess.spawn(List.of("/bin/bash", "-c", loop), List.of("PATH=/usr/bin:/bin"), Map.of());
        Files.writeString(cgroup.resolve("cgroup.procs"), Integer.toString(shell.pid()));
        Awaitility.await().until(() -> count() > 0);
    }

    @AfterEach
    void end() throws IOException {
        kill();
        client.close();
        Awaitility.await().untilAsserted(() -> Files.delete(cgroup));
    }

    @Test
    void tree_dumpedAndRestoredGoesOnWhereItWas() throws Exception {
        List<CriuPhase> phases = new ArrayList<>();
        int[] atDump = new int[1];
        byte[][] fileAtDump = new byte[1][];
        try (CriuSession session = client.session(NETWORK)) {
            long frozen = session.dump(
                    dump(),
                    (phase, pid) -> {
                        phases.add(phase);
                        if (phase == CriuPhase.POST_DUMP) {
                            atDump[0] = count();
                            fileAtDump[0] = file();
                        }
                    },
                    false);
            assertThat(frozen).isPositive();
        }
        assertThat(phases).containsExactly(CriuPhase.PRE_DUMP, CriuPhase.POST_DUMP);
        Awaitility.await("the tree runs on").until(() -> count() > atDump[0] + 2);
        kill();

        // The shell may have had the file open; a file that is back with another size is refused.
        Files.write(directory.resolve("count"), fileAtDump[0]);
        phases.clear();
        int pid;
        try (CriuSession session = client.session(NETWORK)) {
            session.join(List.of(cgroup));
            pid = session.restore(
                    new RestoreRequest(directory.resolve("images"), null), (phase, root) -> phases.add(phase), false);
        }
        assertThat(pid).isEqualTo(shell.pid());
        assertThat(phases).contains(CriuPhase.PRE_RESUME).endsWith(CriuPhase.POST_RESUME);
        shell = ChildProcess.of(pid);
        Awaitility.await("the tree goes on").until(() -> count() > atDump[0] + 2);
        List<Integer> counted = counts();
        assertThat(counted)
                .as("it goes on from its own memory: no number is left out or comes twice")
                .containsExactlyElementsOf(
                        IntStream.rangeClosed(1, counted.size()).boxed().toList());
    }

    @Test
    void processKeptReady_isNotUsedInAnotherNamespaceThatHasGotTheName() throws Exception {
        Path name = directory.resolve("net");
        NetNamespace.create(name);
        try {
            client.keepReady(name);
            // Whoever asks waits for the one that is being started.
            try (CriuSession first = client.session(name)) {
                assertThat(namespaceOf(first)).isEqualTo(Files.getAttribute(name, "unix:ino"));
            }
            client.refill(name);
            NetNamespace.delete(name);
            NetNamespace.create(name);
            try (CriuSession second = client.session(name)) {
                assertThat(namespaceOf(second)).isEqualTo(Files.getAttribute(name, "unix:ino"));
            }
        } finally {
            client.release(name);
            NetNamespace.delete(name);
        }
    }

    private static Object namespaceOf(CriuSession session) throws IOException {
        return Files.getAttribute(Path.of("/proc/" + session.pid() + "/ns/net"), "unix:ino");
    }

    @Test
    void exceptionAtPostDump_comesOutAndTheTreeRunsOn() throws Exception {
        try (CriuSession session = client.session(NETWORK)) {
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> session.dump(
                            dump(),
                            (phase, pid) -> {
                                if (phase == CriuPhase.POST_DUMP) {
                                    throw new IllegalStateException("no");
                                }
                            },
                            false));
        }
        int now = count();
        Awaitility.await().until(() -> count() > now + 2);
    }

    @Test
    void exceptionAtPreResume_killsWhatWasRestoredBeforeItRuns() throws Exception {
        byte[][] fileAtDump = new byte[1][];
        try (CriuSession session = client.session(NETWORK)) {
            session.dump(dump(), (phase, pid) -> fileAtDump[0] = file(), false);
        }
        kill();
        Files.write(directory.resolve("count"), fileAtDump[0]);
        int[] root = new int[1];
        try (CriuSession session = client.session(NETWORK)) {
            session.join(List.of(cgroup));
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> session.restore(
                            new RestoreRequest(directory.resolve("images"), null),
                            (phase, pid) -> {
                                if (phase == CriuPhase.PRE_RESUME) {
                                    root[0] = pid;
                                    throw new IllegalStateException("no");
                                }
                            },
                            false));
        }
        assertThat(ChildProcess.of(root[0]).waitFor(Duration.ofSeconds(5))).isPresent();
        assertThat(file()).isEqualTo(fileAtDump[0]);
    }

    @Test
    void damagedImage_isRefusedWithTheEvidence() throws Exception {
        try (CriuSession session = client.session(NETWORK)) {
            session.dump(dump(), (phase, pid) -> {}, false);
        }
        kill();
        Path pstree = directory.resolve("images/pstree.img");
        byte[] bytes = Files.readAllBytes(pstree);
        bytes[0] ^= 1;
        Files.write(pstree, bytes);
        try (CriuSession session = client.session(NETWORK)) {
            assertThatExceptionOfType(CriuFailure.class)
                    .isThrownBy(() -> session.restore(
                            new RestoreRequest(directory.resolve("images"), null), (phase, pid) -> {}, false))
                    .satisfies(e -> assertThat(e.kind()).isEqualTo(CriuFailure.Kind.REFUSED))
                    .withMessageContaining("pstree");
        }
    }

    @Test
    void criuKilledInMidDump_isBrokenOff() throws Exception {
        try (CriuSession session = client.session(NETWORK)) {
            assertThatExceptionOfType(CriuFailure.class)
                    .isThrownBy(() -> session.dump(
                            dump(),
                            (phase, pid) -> {
                                if (phase == CriuPhase.POST_DUMP) {
                                    ProcessHandle.of(session.pid())
                                            .orElseThrow()
                                            .destroyForcibly();
                                }
                            },
                            false))
                    .satisfies(e -> assertThat(e.kind()).isEqualTo(CriuFailure.Kind.BROKEN_OFF));
        }
    }

    @Test
    void readySession_isReplacedAfterUseAndEndedAtRelease() throws Exception {
        client.keepReady(NETWORK);
        int first;
        try (CriuSession session = client.session(NETWORK)) {
            first = session.pid();
            session.dump(dump(), (phase, pid) -> {}, false);
        }
        client.refill(NETWORK);
        Awaitility.await().until(() -> !criuChildren().isEmpty());
        List<Long> ready = criuChildren();
        assertThat(ready).hasSize(1).doesNotContain((long) first);
        client.release(NETWORK);
        assertThat(criuChildren()).isEmpty();
    }

    @Test
    void sessionKilledWhileIdle_isNotUsed() throws Exception {
        client.keepReady(NETWORK);
        Awaitility.await().until(() -> !criuChildren().isEmpty());
        ProcessHandle idle = ProcessHandle.of(criuChildren().get(0)).orElseThrow();
        idle.destroyForcibly();
        Awaitility.await()
                .until(() -> Files.readString(Path.of("/proc/" + idle.pid() + "/stat"))
                        .contains(") Z"));
        try (CriuSession session = client.session(NETWORK)) {
            assertThat((long) session.pid()).isNotEqualTo(idle.pid());
            session.dump(dump(), (phase, pid) -> {}, false);
        }
    }

    @Test
    void binary_missingTooOldOrDumb_isRefused() throws Exception {
        refused(ErrorCode.CRIU_MISSING, directory.resolve("none"));
        refused(ErrorCode.CRIU_MISSING, directory);
        refused(ErrorCode.CRIU_UNUSABLE, Path.of("/bin/true"));
        assertThat(new CriuFeatures(4, 1, 1, false).isSufficient()).isFalse();
        assertThat(new CriuFeatures(4, 2, 0, false).isSufficient()).isTrue();
        assertThat(new CriuFeatures(5, 0, 0, false).isSufficient()).isTrue();
        assertThat(client.features().isSufficient()).isTrue();
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> CriuClient.find(directory.toString()))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.CRIU_MISSING));
        Path here = Files.createFile(
                directory.resolve("criu"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        assertThat(CriuClient.find("/nowhere:" + directory)).isEqualTo(here);
    }

    private static void refused(ErrorCode code, Path binary) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> CriuClient.open(binary))
                .satisfies(e -> assertThat(e.code()).isEqualTo(code));
    }

    private DumpRequest dump() {
        return new DumpRequest(shell.pid(), directory.resolve("images"), cgroup, List.of("/root"));
    }

    private int count() {
        List<Integer> counted = counts();
        return counted.isEmpty() ? 0 : counted.get(counted.size() - 1);
    }

    /** The numbers that the tree has written; a line that is being written is not one yet. */
    private List<Integer> counts() {
        try {
            String text = Files.readString(directory.resolve("count"));
            return text.substring(0, text.lastIndexOf('\n') + 1)
                    .lines()
                    .map(Integer::valueOf)
                    .toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    private byte[] file() {
        try {
            return Files.readAllBytes(directory.resolve("count"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Long> criuChildren() {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.info().commandLine().orElse("").contains("swrk"))
                .map(ProcessHandle::pid)
                .toList();
    }

    private void kill() throws IOException {
        Files.writeString(cgroup.resolve("cgroup.kill"), "1");
        assertThat(shell.waitFor(Duration.ofSeconds(5))).isPresent();
        Awaitility.await()
                .until(() -> Files.readString(cgroup.resolve("cgroup.procs")).isEmpty());
    }
}
