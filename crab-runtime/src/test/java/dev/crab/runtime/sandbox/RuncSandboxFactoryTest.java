package dev.crab.runtime.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.os.Mounts;
import dev.crab.runtime.os.ProcFs;
import dev.crab.runtime.os.Processes;
import dev.crab.runtime.snapshot.Volume;
import dev.crab.runtime.store.SmallDisk;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RuncSandboxFactoryTest {
    private final SandboxFixture fixture = new SandboxFixture();

    @AfterEach
    void stop() {
        fixture.close();
    }

    @Test
    void closedSandbox_leavesNothingButItsVolume() throws Exception {
        String id = SandboxFixture.newId();
        Volume volume = fixture.volume(id);
        SandboxFactory.Place place = fixture.prepare(id, SandboxFixture.spec(), volume);
        SandboxFactory.RunningSandbox sandbox = place.start();
        sandbox.exec("echo kept > /root/kept; sleep 1000 & sleep 1001 &");
        int init = sandbox.processes().initPid();
        List<Path> groups = place.allCgroups();

        sandbox.close();
        place.close();

        assertThat(Processes.isAlive(init)).isFalse();
        assertThat(groups).noneMatch(Files::exists);
        assertThat(everywhere(id)).isEmpty();
        assertThat(RunFiles.of(fixture.data(), id).directory()).doesNotExist();
        assertThat(RunFiles.of(fixture.data(), id).directory().getParent())
                .as("of the data directory's last sandbox")
                .doesNotExist();
        assertThat(volume.upper().resolve("root/kept")).hasContent("kept");
    }

    /** What still carries the sandbox's name in any cgroup hierarchy or mount table. */
    private static List<String> everywhere(String id) throws IOException {
        try (var cgroups = Files.find(Path.of("/sys/fs/cgroup"), 3, (path, attributes) -> path.endsWith(id))) {
            List<String> found =
                    new java.util.ArrayList<>(cgroups.map(Path::toString).toList());
            Mounts.list().stream()
                    .map(mount -> mount.point().toString())
                    .filter(point -> point.contains(id))
                    .forEach(found::add);
            return found;
        }
    }

    @Test
    void everyProcess_isInTheSandboxsCgroup_withItsLimits() throws Exception {
        String id = SandboxFixture.newId();
        SandboxSpec spec = SandboxFixture.spec().withMemoryLimit(300L << 20).withPidLimit(77);
        SandboxFactory.Place place = fixture.prepare(id, spec, fixture.volume(id));
        SandboxFactory.RunningSandbox sandbox = place.start();
        sandbox.exec("sleep 1000 & sleep 1001 &");

        List<Integer> pids = Cgroups.detect().group(id).processes();

        assertThat(pids).hasSize(3).contains(sandbox.processes().initPid());
        for (Path group : place.allCgroups()) {
            assertThat(Files.readAllLines(group.resolve("cgroup.procs"))).hasSize(3);
        }
        assertThat(limits(place.allCgroups(), "pids.max")).containsExactly("77");
        assertThat(limits(place.allCgroups(), "memory.max", "memory.limit_in_bytes"))
                .containsExactly(Long.toString(300L << 20));
        assertThat(sandbox.processes().cgroup()).isEqualTo(place.cgroup());
    }

    private static List<String> limits(List<Path> groups, String... names) throws IOException {
        List<String> values = new java.util.ArrayList<>();
        for (Path group : groups) {
            for (String name : names) {
                if (Files.exists(group.resolve(name))) {
                    values.add(Files.readString(group.resolve(name)).strip());
                }
            }
        }
        return values;
    }

    @Test
    void secondSandbox_ofTheSameName_isRefused_andTheFirstUnharmed() {
        String id = SandboxFixture.newId();
        Volume volume = fixture.volume(id);
        Sandbox sandbox = fixture.prepare(id, SandboxFixture.spec(), volume).start();

        fails(ErrorCode.NAME_TAKEN, () -> fixture.factory().prepare(id, SandboxFixture.spec(), volume));

        assertThat(sandbox.exec("echo fine").out()).isEqualTo("fine\n");
    }

    @Test
    void names_thatLeadElsewhere_areRefused() {
        for (String name : List.of("", "..", "a/b", "../x", "A", "-x", "x".repeat(122))) {
            fails(
                    ErrorCode.NAME_INVALID,
                    () -> fixture.factory().prepare(name, SandboxFixture.spec(), fixture.volume("v")));
            fails(ErrorCode.NAME_INVALID, () -> fixture.factory().sweep(name));
        }
    }

    @Test
    void sweep_removesWhatADeadOwnerLeft_andOnlyThat() throws Exception {
        Sandbox bystander = fixture.start();
        String id = SandboxFixture.newId();
        SandboxFactory.RunningSandbox abandoned =
                fixture.prepare(id, SandboxFixture.spec(), fixture.volume(id)).start();
        abandoned.exec("sleep 1000 &");
        Cgroups.detect().group(id).freeze();

        fixture.factory().sweep(id);

        assertThat(everywhere(id)).isEmpty();
        assertThat(RunFiles.of(fixture.data(), id).directory()).doesNotExist();
        fails(ErrorCode.SANDBOX_LOST, () -> abandoned.exec("true"));
        assertThat(bystander.exec("echo fine").out()).isEqualTo("fine\n");
        fixture.factory().sweep(id);
        fixture.factory().sweep("never-was");
    }

    @Test
    void sandboxWhosePidOneIsGone_isLost() throws Exception {
        SandboxFactory.RunningSandbox sandbox = fixture.start();
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            Future<ExecResult> running = executor.submit(() -> sandbox.exec("sleep 100"));
            Awaitility.await()
                    .until(() ->
                            Cgroups.detect().group(sandbox.id()).processes().size() > 1);
            Processes.kill(sandbox.processes().initPid());

            assertThatExceptionOfType(java.util.concurrent.ExecutionException.class)
                    .isThrownBy(running::get)
                    .withCauseInstanceOf(CrabException.class)
                    .withMessageContaining("SANDBOX_LOST");
        } finally {
            executor.shutdownNow();
        }
        Awaitility.await().until(() -> !Processes.isAlive(sandbox.processes().initPid()));
        fails(ErrorCode.SANDBOX_LOST, () -> sandbox.exec("true"));
        fails(ErrorCode.SANDBOX_LOST, () -> sandbox.readFile("/etc/passwd", 10_000));
        fails(ErrorCode.SANDBOX_LOST, () -> sandbox.shell("s").run("true"));
        fails(ErrorCode.SANDBOX_LOST, () -> sandbox.pty("t"));
    }

    @Test
    void hold_refusesWhileACommandRuns_andElseFindsNoConnection() throws Exception {
        SandboxFactory.RunningSandbox sandbox = fixture.start();
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            Future<ExecResult> running =
                    executor.submit(() -> sandbox.exec("while [ ! -e /tmp/go ]; do sleep 0.05; done"));
            Awaitility.await()
                    .until(() ->
                            Cgroups.detect().group(sandbox.id()).processes().size() > 1);
            fails(ErrorCode.CAPTURE_FAILED, sandbox::hold);
            sandbox.writeFile("/tmp/go", new byte[0]);
            running.get();
        } finally {
            executor.shutdownNow();
        }
        try (Sandbox.PtyShell terminal = sandbox.pty("t")) {
            terminal.type("echo hi\n");
            terminal.read(Duration.ofMillis(100), Duration.ofSeconds(1));

            sandbox.hold().close();
        }
        // null, null, null, the listener, the signals, the terminal's master: no accepted connection
        assertThat(ProcFs.descriptors(sandbox.processes().initPid()).values().stream()
                        .filter(link -> link.startsWith("socket:")))
                .hasSize(1);
        assertThat(ProcFs.descriptors(sandbox.processes().initPid())).hasSize(6);
    }

    @Test
    void hold_keepsOtherThreadsOutUntilItIsClosed_andLetsItsOwnIn() throws Exception {
        SandboxFactory.RunningSandbox sandbox = fixture.start();
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            SandboxFactory.Hold outer = sandbox.hold();
            SandboxFactory.Hold inner = sandbox.hold();
            Future<ExecResult> waiting = executor.submit(() -> sandbox.exec("touch /tmp/begun"));
            sandbox.writeFile("/tmp/own", new byte[0]);
            inner.close();
            inner.close();
            sandbox.exec("sleep 0.3");
            assertThat(sandbox.listFiles("/tmp"))
                    .extracting(FileEntry::name)
                    .contains("own")
                    .doesNotContain("begun");
            outer.close();
            waiting.get();
            assertThat(sandbox.listFiles("/tmp")).extracting(FileEntry::name).contains("begun");
        } finally {
            executor.shutdownNow();
        }
    }

    @Test
    void sharedMemoryOfPosix_canBeUsed() {
        SandboxFactory.RunningSandbox sandbox = fixture.start();
        ExecResult result = sandbox.exec("stat -c %a /dev/shm && python3 -c 'import multiprocessing as m;"
                + " from multiprocessing import shared_memory as s; b = s.SharedMemory(create=True, size=9); m.Lock();"
                + " b.buf[0] = 7; o = s.SharedMemory(b.name); print(o.buf[0]); o.close(); b.close(); b.unlink()'");
        assertThat(result.out()).as(result.text()).isEqualTo("1777\n7\n");
    }

    @Test
    void pidOne_holdsNothingOfTheHost() {
        SandboxFactory.RunningSandbox sandbox = fixture.start();
        sandbox.exec("echo hi");

        // The pipes of a command that has ended go right behind its answer.
        Awaitility.await()
                .untilAsserted(
                        () -> assertThat(ProcFs.descriptors(sandbox.processes().initPid()))
                                .hasSize(5)
                                .containsEntry(0, "/dev/null")
                                .containsEntry(1, "/dev/null")
                                .containsEntry(2, "/dev/null")
                                .containsValue("anon_inode:[signalfd]"));
    }

    @Test
    void freshStart_onFilesThatPlantLinks_isSafe() throws Exception {
        Path outside = Files.createTempFile("crab-outside", "");
        Files.writeString(outside, "untouched");
        String id = SandboxFixture.newId();
        Volume volume = fixture.volume(id);
        try (SandboxFactory.Place place = fixture.prepare(id, SandboxFixture.spec(), volume);
                SandboxFactory.RunningSandbox first = place.start()) {
            first.exec("rm /.crab-init && ln -s " + outside
                    + " /.crab-init; rm -rf /run/crab; ln -s /tmp /run/crab; echo 1 > /root/n");
        }

        Sandbox second = fixture.prepare(id, SandboxFixture.spec(), volume).start();

        assertThat(second.exec("cat /root/n; stat -c %F /.crab-init /run/crab").out())
                .isEqualTo("1\nregular file\ndirectory\n");
        assertThat(outside).hasContent("untouched");
        Files.delete(outside);
    }

    @Test
    void freshStart_onFilesWithDirectoriesInTheWay_works() {
        String id = SandboxFixture.newId();
        Volume volume = fixture.volume(id);
        try (SandboxFactory.Place place = fixture.prepare(id, SandboxFixture.spec(), volume);
                SandboxFactory.RunningSandbox first = place.start()) {
            first.exec(
                    "rm /.crab-init; mkdir -p /.crab-init/x; rm /run/crab/exec.sock; mkdir -p /run/crab/exec.sock/x; chown 7 /run/crab");
        }

        Sandbox second = fixture.prepare(id, SandboxFixture.spec(), volume).start();

        assertThat(second.exec("stat -c '%F %a %u' /run/crab").out()).isEqualTo("directory 700 0\n");
    }

    @Test
    void adopt_ofAProcessThatIsNotInThePlace_isRefused() {
        String id = SandboxFixture.newId();
        SandboxFactory.Place place = fixture.prepare(id, SandboxFixture.spec(), fixture.volume(id));

        fails(
                ErrorCode.RESTORE_FAILED,
                () -> place.adopt((int) ProcessHandle.current().pid()));
    }

    @Test
    void adopt_ofTheRunningPidOne_servesTheSameSandbox() {
        String id = SandboxFixture.newId();
        SandboxFactory.Place place = fixture.prepare(id, SandboxFixture.spec(), fixture.volume(id));
        SandboxFactory.RunningSandbox started = place.start();
        started.exec("echo 1 > /tmp/x");

        SandboxFactory.RunningSandbox adopted = place.adopt(started.processes().initPid());

        assertThat(adopted.exec("cat /tmp/x").out()).isEqualTo("1\n");
    }

    @Test
    void image_thatDoesNotExist_isNotFound_andNothingIsLeft() throws Exception {
        String id = SandboxFixture.newId();
        SandboxSpec spec = SandboxFixture.spec().withImage(new SandboxImage.Directory(Path.of("/no/such/image")));

        fails(ErrorCode.IMAGE_NOT_FOUND, () -> fixture.factory().prepare(id, spec, fixture.volume(id)));
        fails(ErrorCode.IMAGE_NOT_FOUND, () -> fixture.factory().resolve(new SandboxImage.Debian()));

        assertThat(everywhere(id)).isEmpty();
    }

    @Test
    void overlayThatCannotBeMounted_leavesNoPlace() throws Exception {
        String id = SandboxFixture.newId();
        Volume missing = new Volume(id, fixture.data().resolve("nowhere"));

        try (SandboxFactory.Place place = fixture.factory().prepare(id, SandboxFixture.spec(), missing)) {
            fails(ErrorCode.IO_FAILED, place::mount);
            fails(ErrorCode.IO_FAILED, place::start);
        }

        assertThat(everywhere(id)).isEmpty();
        assertThat(RunFiles.of(fixture.data(), id).directory()).doesNotExist();
    }

    @Test
    void noRoomForWhatRuncWrites_isSaid_andNothingIsLeft() throws Exception {
        String id = SandboxFixture.newId();
        RunFiles files = RunFiles.of(fixture.data(), id);
        SandboxFactory.Place place = fixture.prepare(id, SandboxFixture.spec(), fixture.volume(id));
        try (SmallDisk full = SmallDisk.tmpfs(files.runcState(), 4)) {
            fails(ErrorCode.DISK_FULL, place::start);
            assertThat(full.root()).isEmptyDirectory();
        }

        place.close();

        assertThat(everywhere(id)).isEmpty();
        assertThat(files.directory()).doesNotExist();
    }

    @Test
    void garbageAndFloods_doNotHarmPidOne() throws Exception {
        SandboxFactory.RunningSandbox sandbox = fixture.start();
        java.util.Random random = new java.util.Random(3);
        try (InitClient client = new InitClient("raw", sandbox.processes().initPid(), true)) {
            for (int round = 0; round < 300; round++) {
                try (InitConnection connection = client.connect()) {
                    byte[] body = new byte[random.nextInt(3000)];
                    random.nextBytes(body);
                    int type = round % 3 == 0 ? 1 + random.nextInt(10) : random.nextInt(256);
                    connection.send(type, body);
                    connection.send(random.nextInt(256), body);
                } catch (IOException e) {
                    // pid 1 hung up, as it should
                }
            }
            try (InitConnection connection = client.connect()) {
                // more argument strings than are there, and a length that wraps
                connection.send(Protocol.EXEC, new byte[] {0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, '/', 0});
                assertThat(connection.receive(System.nanoTime() + 5_000_000_000L))
                        .satisfies(frame -> assertThat(frame.type()).isEqualTo(Protocol.ERROR));
            }
            List<InitConnection> idle = new java.util.ArrayList<>();
            for (int i = 0; i < 100; i++) {
                idle.add(client.connect());
            }
            assertThat(sandbox.exec("echo served").out()).isEqualTo("served\n");
            idle.forEach(InitConnection::close);
        }
        assertThat(sandbox.exec("echo served").out()).isEqualTo("served\n");
        long resident = Files.readAllLines(
                        Path.of("/proc/" + sandbox.processes().initPid() + "/status"))
                .stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
                .sum();
        assertThat(resident).as("KiB resident").isLessThan(16 << 10);
    }

    @Test
    void hostThatReadsSlowly_makesTheCommandWait_notPidOneGrow() throws Exception {
        SandboxFactory.RunningSandbox sandbox = fixture.start();
        try (InitClient client = new InitClient("raw", sandbox.processes().initPid(), true);
                InitConnection connection = client.connect()) {
            byte[] strings = String.join("\0", "/", "head", "-c", "200000000", "/dev/zero", "PATH=/usr/bin", "")
                    .getBytes(StandardCharsets.UTF_8);
            byte[] body = java.nio.ByteBuffer.allocate(12 + strings.length)
                    .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                    .putInt(0)
                    .putInt(4)
                    .putInt(1)
                    .put(strings)
                    .array();
            connection.send(Protocol.EXEC, body);
            for (int i = 0; i < 20; i++) {
                assertThat(sandbox.exec("echo served").out()).isEqualTo("served\n");
            }
            assertThat(sandbox.exec("pgrep -c -x head").out()).isEqualTo("1\n");
        }
    }

    private static void fails(ErrorCode code, ThrowingCallable call) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(call)
                .satisfies(e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
    }
}
