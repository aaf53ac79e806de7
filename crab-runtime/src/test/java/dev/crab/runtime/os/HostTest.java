package dev.crab.runtime.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The classes that wrap the host's mounts, namespaces, cgroups, paths and sockets, against the real kernel. */
class HostTest {
    @TempDir
    Path directory;

    @Test
    void overlay_mountsOverPathsWithOddNames_andIsUnmountedThoughBusy() throws Exception {
        Path base = Files.createDirectories(directory.resolve("a:b,c\\d e"));
        Path lower = Files.createDirectories(base.resolve("lower"));
        Path point = Files.createDirectories(base.resolve("merged"));
        Files.writeString(lower.resolve("file"), "below");

        Mounts.overlay(
                lower,
                Files.createDirectories(base.resolve("upper")),
                Files.createDirectories(base.resolve("work")),
                point);
        try {
            assertThat(point.resolve("file")).hasContent("below");
            assertThat(Mounts.list()).anySatisfy(mount -> {
                assertThat(mount.point()).isEqualTo(point);
                assertThat(mount.type()).isEqualTo("overlay");
            });
        } finally {
            try (var busy = Files.newInputStream(point.resolve("file"))) {
                Mounts.unmount(point);
                assertThat(busy.readAllBytes()).asString().isEqualTo("below");
            }
        }
        Mounts.unmount(point);
        Mounts.unmount(directory.resolve("never-was"));

        assertThat(Mounts.list()).noneSatisfy(mount -> assertThat(mount.point()).isEqualTo(point));
    }

    /** Ctrl-C at a terminal ends a group of processes; a CRIU in it would take the turn along that is being saved. */
    @Test
    void child_isInASessionOfItsOwn() throws Exception {
        ChildProcess child = ChildProcess.spawn(List.of("/bin/sleep", "1000"), List.of(), Map.of());
        try {
            // man 5 proc: after the name in parentheses come state, parent, group, session.
            String stat = Files.readString(Path.of("/proc", Integer.toString(child.pid()), "stat"));
            List<String> fields =
                    List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" ", 5));
            assertThat(fields.subList(2, 4)).containsOnly(Integer.toString(child.pid()));
        } finally {
            child.kill();
            child.waitFor(Duration.ofSeconds(30));
        }
    }

    @Test
    void networkNamespace_hasLoopbackUp_andIsNotTheCallers() throws Exception {
        Path file = directory.resolve("netns");
        Path mine = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net"));

        NetNamespace.create(file);
        try {
            assertThat(Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")))
                    .isEqualTo(mine);
            assertThat(Files.getAttribute(file, "unix:ino"))
                    .isNotEqualTo(Files.getAttribute(Path.of("/proc/self/ns/net"), "unix:ino"));
            Process process = new ProcessBuilder("nsenter", "--net=" + file, "cat", "/proc/net/if_inet6").start();
            assertThat(process.inputReader().lines()).singleElement().asString().endsWith(" lo");
            if (Files.exists(Path.of("/proc/sys/net/ipv4/tcp_child_ehash_entries"))) {
                Process table = new ProcessBuilder(
                                "nsenter", "--net=" + file, "cat", "/proc/sys/net/ipv4/tcp_ehash_entries")
                        .start();
                assertThat(table.inputReader().lines()).containsExactly("4096"); // negative if it is the host's
            }
            assertThatIOException().isThrownBy(() -> NetNamespace.create(file));
        } finally {
            NetNamespace.delete(file);
        }
        NetNamespace.delete(file);

        assertThat(file).doesNotExist();
    }

    @Test
    void cgroup_limitsFreezesKillsAndGoes() throws Exception {
        String name = "test-" + UUID.randomUUID();
        Cgroup group = Cgroups.detect().create(name, 64L << 20, 20);
        try {
            Process first = new ProcessBuilder("sleep", "1000").start();
            Process second = new ProcessBuilder("sleep", "1001").start();
            group.add((int) first.pid());
            group.add((int) second.pid());
            assertThat(group.processes()).containsExactlyInAnyOrder((int) first.pid(), (int) second.pid());

            group.freeze();
            assertThat(group.unified().resolve("cgroup.events")).content().contains("frozen 1");
            group.thaw();
            assertThat(group.unified().resolve("cgroup.events")).content().contains("frozen 0");
            group.freeze();
            group.killAll();

            // Who takes the zombies away, the group or Java, is a race between the two.
            first.waitFor();
            second.waitFor();
            assertThat(Path.of("/proc/" + first.pid())).doesNotExist();
            assertThat(Path.of("/proc/" + second.pid())).doesNotExist();
            assertThat(group.processes()).isEmpty();
        } finally {
            group.killAll();
            group.remove();
        }
        group.remove();
        group.killAll();

        assertThat(group.exists()).isFalse();
    }

    @Test
    void rootedPath_followsNoLink_andNothingLeadsOut() throws Exception {
        Path root = Files.createDirectories(directory.resolve("root/run"));
        Files.createFile(root.resolve("file"));
        Files.createSymbolicLink(root.resolve("link"), Path.of("file"));
        Files.createSymbolicLink(directory.resolve("root/linked"), Path.of("run"));
        Files.createSymbolicLink(root.resolve("out"), Path.of("/etc/passwd"));
        try (NativeFd top = RootedPath.openRoot(directory.resolve("root"))) {
            RootedPath.open(top, "run/file").close();
            for (String path : new String[] {"linked/file", "run/link", "run/out", "run/none", "run/out/x"}) {
                assertThatIOException()
                        .as(path)
                        .isThrownBy(() -> RootedPath.open(top, path).close());
            }
            try (NativeFd link = RootedPath.open(top, "../../../../run/file")) {
                assertThat(link.number()).isPositive();
            }
            assertThatIOException()
                    .isThrownBy(() -> RootedPath.openFollowing(top, "run/out").close());
            RootedPath.openFollowing(top, "linked/link").close();
        }
    }

    @Test
    void unixStream_tellsItsPeer_carriesBytes_andSeesTheEnd() throws Exception {
        Path path = directory.resolve("s");
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
                NativeFd root = RootedPath.openRoot(directory)) {
            server.bind(UnixDomainSocketAddress.of(path));
            try (NativeFd socket = RootedPath.open(root, "s");
                    UnixStream stream = UnixStream.connect(socket)) {
                SocketChannel accepted = server.accept();
                assertThat(stream.peerPid())
                        .isEqualTo((int) ProcessHandle.current().pid());
                assertThat(stream.read()).isEmpty();
                assertThat(stream.await(false, 1)).isFalse();
                byte[] large = new byte[1 << 20];
                int sent = 0;
                int now;
                while ((now = stream.write(large, sent)) > 0) {
                    sent += now;
                }
                assertThat(sent).isPositive().isLessThan(large.length);
                accepted.write(java.nio.ByteBuffer.wrap(new byte[] {7}));
                assertThat(stream.await(false, 5000)).isTrue();
                assertThat(stream.read()).containsExactly(7);
                accepted.close();
                assertThat(stream.read()).isNull();
                assertThatIOException().isThrownBy(() -> stream.write(new byte[1], 0));
            }
            Files.delete(path);
            Files.createFile(path);
            try (NativeFd noSocket = RootedPath.open(root, "s")) {
                assertThatExceptionOfType(IOException.class)
                        .isThrownBy(() -> UnixStream.connect(noSocket).close());
            }
        }
    }

    @Test
    void processes_areDescribedKilledAndNoticed() throws Exception {
        Process process = new ProcessBuilder("sleep", "1000").start();
        int pid = (int) process.pid();

        assertThat(ProcFs.find(pid)).hasValueSatisfying(info -> {
            assertThat(info.parent()).isEqualTo((int) ProcessHandle.current().pid());
            assertThat(info.comm()).isIn("sleep", "java", "jspawnhelper");
            assertThat(info.threads()).isEqualTo(1);
        });
        assertThat(ProcFs.descriptors(pid)).containsKeys(0, 1, 2);
        assertThat(Processes.isAlive(pid)).isTrue();
        Processes.kill(pid);
        process.waitFor();
        Awaitility.await().until(() -> !Processes.isAlive(pid));
        Processes.kill(pid);
        Processes.reap(pid);

        assertThat(ProcFs.find(pid)).isEmpty();
        assertThat(ProcFs.descriptors(pid)).isEmpty();
    }

    @Test
    void killedGroup_leavesNoZombieOfThisProcess() throws Exception {
        Cgroup group =
                Cgroups.detect().create("test-zombie-" + ProcessHandle.current().pid(), 1L << 30, 10);
        // Its memory takes a while to go: until then it is in no list, and no zombie yet.
        ChildProcess child = ChildProcess.spawn(
                List.of("/bin/bash", "-c", "x=$(head -c 300000000 /dev/zero | tr '\\0' x); read -r y < /dev/zero"),
                List.of("PATH=/usr/bin:/bin"),
                Map.of());
        try {
            group.add(child.pid());
            while (resident(child.pid()) < 280 << 10) {
                Thread.onSpinWait();
            }
            group.killAll();
            assertThat(ProcFs.find(child.pid())).isEmpty();
        } finally {
            group.killAll();
            group.remove();
        }
    }

    /** KiB. */
    private static long resident(int pid) throws IOException {
        return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
                .findFirst()
                .orElse(0);
    }
}
