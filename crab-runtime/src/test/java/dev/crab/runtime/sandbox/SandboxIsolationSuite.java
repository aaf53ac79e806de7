package dev.crab.runtime.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * What a sandbox must withstand, whether its pid 1 was started or restored. Implement {@link #sandbox} to give, for each test, a fresh
 * running sandbox of {@link #limits}.
 */
public interface SandboxIsolationSuite {
    /** The running sandbox of the current test. */
    SandboxFactory.RunningSandbox sandbox();

    /** The limits that the tests count on. */
    static SandboxSpec limits(SandboxImage image) {
        return SandboxSpec.defaults()
                .withImage(image)
                .withMemoryLimit(256L << 20)
                .withPidLimit(64);
    }

    /** What becomes of a process that calls the kernel by the i386 table, which the filter does not know. */
    String ENDED_BY_SIGSYS = "[ended by signal 31]";

    @Test
    default void deviceNodes_cannotBeMade() {
        Map<String, String> results = Hostile.in(sandbox())
                .attempt(
                        "mknod-char",
                        "mknod-block",
                        "mknodat-char",
                        "mknodat-block",
                        "mknod-i386",
                        "mknod-x32",
                        "mknod-fifo");

        assertThat(results).containsEntry("mknod-fifo", "done");
        results.remove("mknod-fifo");
        assertThat(results.remove("mknod-i386")).isEqualTo(ENDED_BY_SIGSYS);
        assertThat(results).allSatisfy((attempt, result) -> assertThat(result).isIn("EPERM", "ENOSYS"));
        assertThat(sandbox()
                        .exec("find / -xdev -type b -print; test -c /tmp/node || test -b /tmp/node")
                        .text())
                .isEqualTo("\n[exit status 1]");
    }

    @Test
    default void nodesOfHarmlessDevices_areAllThereIs() {
        assertThat(sandbox()
                        .exec("find / -xdev -type c -printf '%p\\n' | sort")
                        .out()
                        .lines())
                .isSubsetOf(
                        "/dev/console",
                        "/dev/full",
                        "/dev/null",
                        "/dev/ptmx",
                        "/dev/random",
                        "/dev/tty",
                        "/dev/urandom",
                        "/dev/zero");
    }

    @Test
    default void mounts_areDenied() {
        Map<String, String> results = Hostile.in(sandbox())
                .attempt(
                        "mount-proc",
                        "mount-bind",
                        "mount-i386",
                        "mount-remount",
                        "umount",
                        "fsopen",
                        "open-tree",
                        "pivot-root");

        assertThat(results.remove("mount-i386")).isEqualTo(ENDED_BY_SIGSYS);
        assertThat(results).allSatisfy((attempt, result) -> assertThat(result).isIn("EPERM", "ENOSYS"));
        assertThat(sandbox().exec("ls /mnt").text()).isEmpty();
    }

    @Test
    default void kernelSettings_areNotWritable() throws IOException {
        Path swappiness = Path.of("/proc/sys/vm/swappiness");
        // Not readString: a sysctl answers the first read only, and that one asks for a single byte.
        List<String> before = Files.readAllLines(swappiness);

        Map<String, String> results = Hostile.in(sandbox()).attempt("sysctl", "sysrq", "core-pattern", "sethostname");

        assertThat(results)
                .allSatisfy((attempt, result) -> assertThat(result).isIn("EROFS", "EPERM", "EACCES", "ENOENT"));
        assertThat(results).doesNotContainEntry("sysctl", "ENOENT");
        assertThat(Files.readAllLines(swappiness)).isEqualTo(before);
        assertThat(sandbox()
                        .exec("cat /proc/kcore /proc/keys /proc/timer_list | wc -c")
                        .out()
                        .strip())
                .isEqualTo("0");
    }

    @Test
    default void namespaces_cannotBeMadeOrEntered() {
        Map<String, String> results = Hostile.in(sandbox())
                .attempt(
                        "unshare-user",
                        "unshare-mount",
                        "unshare-net",
                        "clone-user",
                        "clone-mount",
                        "clone-pid",
                        "clone-net",
                        "setns",
                        "clone3",
                        "clone-plain");

        assertThat(results).containsEntry("clone-plain", "done").containsEntry("clone3", "ENOSYS");
        results.remove("clone-plain");
        assertThat(results).allSatisfy((attempt, result) -> assertThat(result).isIn("EPERM", "ENOSYS"));
        assertThat(sandbox().exec("unshare -U true").isSuccess()).isFalse();
    }

    @Test
    default void callsThatReachBeyond_areDenied() {
        Map<String, String> results = Hostile.in(sandbox())
                .attempt("io-uring", "userfaultfd", "bpf", "perf", "keyctl", "module", "kexec", "handle", "vsock");

        assertThat(results)
                .containsEntry("io-uring", "ENOSYS")
                .containsEntry("userfaultfd", "ENOSYS")
                .containsEntry("vsock", "EAFNOSUPPORT")
                .allSatisfy((attempt, result) -> assertThat(result).isIn("EPERM", "ENOSYS", "EAFNOSUPPORT"));
    }

    @Test
    default void privileges_cannotBeGained() {
        String status = sandbox().exec("cat /proc/self/status").out();
        long capabilities = Long.parseLong(
                status.lines()
                        .filter(line -> line.startsWith("CapBnd:"))
                        .findFirst()
                        .orElseThrow()
                        .substring(7)
                        .strip(),
                16);

        assertThat(status).contains("NoNewPrivs:\t1").contains("Seccomp:\t2");
        assertThat(capabilities & (1L << 27)).as("CAP_MKNOD").isZero();
        assertThat(capabilities & (1L << 21)).as("CAP_SYS_ADMIN").isZero();
        assertThat(capabilities & (1L << 19)).as("CAP_SYS_PTRACE").isZero();
        ExecResult setuid = sandbox()
                .exec(
                        "cp /usr/bin/id /tmp/id && chmod 4755 /tmp/id && setpriv --reuid=1000 --regid=1000 --clear-groups /tmp/id -u");
        assertThat(setuid.out().strip()).isEqualTo("1000");
    }

    @Test
    default void pidOne_cannotBeReachedFromInside() {
        Map<String, String> results =
                Hostile.in(sandbox()).attempt("ask-init", "trace-init", "init-memory", "init-fds");

        assertThat(results.get("ask-init")).isIn("ECONNRESET", "EPIPE");
        results.remove("ask-init");
        assertThat(results).allSatisfy((attempt, result) -> assertThat(result).isIn("EPERM", "EACCES"));
        assertThat(sandbox()
                        .exec("kill -9 1; kill -TERM 1; kill -STOP 1; kill -CHLD 1; echo alive")
                        .out()
                        .strip())
                .isEqualTo("alive");
        assertThat(sandbox().exec("echo served").out().strip()).isEqualTo("served");
    }

    @Test
    default void network_isLoopbackOnly() {
        assertThat(sandbox()
                        .exec("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '")
                        .out()
                        .strip())
                .isEqualTo("lo");
        ExecResult echoed = sandbox()
                .exec(ExecRequest.of(
                        "python3",
                        "-c",
                        "import socket;s=socket.create_server(('127.0.0.1',0));c=socket.create_connection(s.getsockname());"
                                + "a,_=s.accept();c.send(b'x');print(a.recv(1))"));
        assertThat(echoed.text().strip()).isEqualTo("b'x'");
    }

    @Test
    default void forkBomb_hurtsOnlyItself() {
        ExecRequest bomb = ExecRequest.of("/bin/bash", "-c", "f() { f | f & }; f; sleep 60")
                .withTimeout(Duration.ofSeconds(2));

        ExecResult result = sandbox().exec(bomb);

        assertThat(result.end()).isInstanceOf(ExecResult.End.TimedOut.class);
        assertThat(sandbox().exec("echo still here").out().strip()).isEqualTo("still here");
        assertThat(sandbox().exec("ps -e --no-headers | wc -l").out().strip()).isIn("3", "4", "5");
    }

    @Test
    default void memoryHog_hurtsOnlyItself() {
        ExecResult hog =
                sandbox().exec(ExecRequest.of("python3", "-c", "b = []\nwhile True: b.append(b'x' * (1 << 20))"));

        assertThat(hog.end()).isEqualTo(new ExecResult.End.Signaled(9));
        assertThat(sandbox().exec("echo still here").out().strip()).isEqualTo("still here");
    }

    @Test
    default void limits_hold() {
        String forks =
                "import os,time\nn=0\ntry:\n  while n<300:\n    if os.fork()==0: time.sleep(30); os._exit(0)\n    n+=1\n"
                        + "except OSError: pass\nprint(n,flush=True)\nos.killpg(0,9)";
        String hog = "b=[]\nfor i in range(1000):\n  b.append(b'x'*(1<<20)); open('/tmp/mib','w').write(str(i))";

        assertThat(sandbox().exec(ExecRequest.of("python3", "-c", forks)).out().strip())
                .satisfies(forked -> assertThat(Integer.parseInt(forked)).isBetween(50, 63));
        sandbox().exec(ExecRequest.of("python3", "-c", hog));
        assertThat(Integer.parseInt(sandbox().exec("cat /tmp/mib").out().strip()))
                .isBetween(100, 256);
    }

    @Test
    default void endlessOutput_isBounded() {
        ExecRequest yes =
                ExecRequest.of("yes").withTimeout(Duration.ofSeconds(1)).withOutputLimit(10_000);

        ExecResult result = sandbox().exec(yes);

        assertThat(result.end()).isInstanceOf(ExecResult.End.TimedOut.class);
        assertThat(result.stdout()).hasSize(10_000);
        assertThat(result.truncated()).isTrue();
        assertThat(sandbox().exec("pgrep -x yes").status()).isEqualTo(1);
    }

    @Test
    default void controlSocket_ofAnImpostor_isRefused() {
        sandbox()
                .exec("cd /run/crab && rm exec.sock && (setsid python3 -c '\n"
                        + "import socket,time\n"
                        + "s=socket.socket(socket.AF_UNIX);s.bind(\"/run/crab/exec.sock\");s.listen()\n"
                        + "open(\"/tmp/ready\",\"w\").close();time.sleep(300)' > /dev/null 2>&1 &) ;"
                        + " while [ ! -e /tmp/ready ]; do sleep 0.05; done");

        refusesToExec();
    }

    @Test
    default void controlSocket_behindALink_isRefused() throws Exception {
        sandbox().exec("cd /run/crab && mv exec.sock real.sock && ln -s real.sock exec.sock");

        refusesToExec();
    }

    @Test
    default void controlSocket_inALinkedDirectory_isRefused() throws Exception {
        sandbox().exec("mv /run/crab /tmp/crab-moved && ln -s /tmp/crab-moved /run/crab");

        refusesToExec();
    }

    @Test
    default void controlSocket_linkToAHostSocket_isNotFollowed() throws Exception {
        Path directory = Files.createTempDirectory("crab-host-socket");
        Path socket = directory.resolve("s");
        try (var server = java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)) {
            server.bind(java.net.UnixDomainSocketAddress.of(socket));
            server.configureBlocking(false);
            sandbox().exec("rm /run/crab/exec.sock && ln -s " + socket + " /run/crab/exec.sock");

            refusesToExec();

            assertThat(server.accept()).as("a connection to the host's socket").isNull();
        } finally {
            Files.deleteIfExists(socket);
            Files.delete(directory);
        }
    }

    private void refusesToExec() {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> sandbox().exec("true"))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.CONTROL_SOCKET_REFUSED));
    }

    @Test
    default void programFile_replaced_changesNothingForTheRunningPidOne() {
        sandbox().exec("rm -f /.crab-init; printf '#!/bin/sh\\necho hijacked\\n' > /.crab-init; chmod 755 /.crab-init");

        assertThat(sandbox().exec("echo served").out().strip()).isEqualTo("served");
    }

    @Test
    default void files_outsideTheRoot_areNotWrittenThroughLinks() throws Exception {
        Path outside = Files.createTempFile("crab-outside", "");
        Files.writeString(outside, "untouched", StandardCharsets.UTF_8);
        try {
            sandbox().exec("ln -s " + outside + " /tmp/link; ln -s ../../../../../../../.." + outside + " /tmp/link2");

            sandbox().writeFile("/tmp/link", "planted".getBytes(StandardCharsets.UTF_8));
            sandbox().writeFile("/tmp/link2", "planted".getBytes(StandardCharsets.UTF_8));

            assertThat(outside).hasContent("untouched");
        } finally {
            Files.delete(outside);
        }
    }
}
