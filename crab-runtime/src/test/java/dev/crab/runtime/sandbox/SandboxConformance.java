package dev.crab.runtime.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** What every {@link Sandbox} does, however it came to run. Implement {@link #sandbox} to give a fresh one for each test. */
public interface SandboxConformance {
    /** The running sandbox of the current test; its image has bash, coreutils and python3. */
    Sandbox sandbox();

    @Test
    default void exec_separatesTheOutputs_andGivesTheStatus() {
        ExecResult result = sandbox().exec("echo out; echo err >&2; exit 3");

        assertThat(result.end()).isEqualTo(new ExecResult.End.Exited(3));
        assertThat(result.out()).isEqualTo("out\n");
        assertThat(result.err()).isEqualTo("err\n");
        assertThat(result.truncated()).isFalse();
    }

    @Test
    default void exec_givesTheSignalThatEndedTheCommand() {
        assertThat(sandbox().exec("kill -TERM $$").end()).isEqualTo(new ExecResult.End.Signaled(15));
    }

    @Test
    default void exec_takesWorkingDirectoryAndExactlyTheEnvironment() {
        ExecRequest request =
                ExecRequest.of("/usr/bin/env").withWorkingDirectory("/tmp").withEnvironment("GREETING", "grüß\ngott");

        assertThat(sandbox().exec(request).out().lines())
                .contains("GREETING=grüß", "gott", "HOME=/root")
                .hasSize(6);
        assertThat(sandbox()
                        .exec(ExecRequest.of("pwd").withWorkingDirectory("/usr/lib"))
                        .out())
                .isEqualTo("/usr/lib\n");
    }

    @Test
    default void exec_feedsInput_muchMoreThanPipesHold() {
        byte[] input = new byte[5 << 20];
        new Random(1).nextBytes(input);

        ExecResult result =
                sandbox().exec(ExecRequest.of("cat").withInput(input).withOutputLimit(6 << 20));

        assertThat(result.status()).isZero();
        assertThat(Arrays.equals(result.stdout(), input))
                .as("output equals input")
                .isTrue();
    }

    @Test
    default void exec_inputThatNobodyReads_isDropped() {
        ExecResult result = sandbox().exec(ExecRequest.of("true").withInput(new byte[3 << 20]));

        assertThat(result.end()).isEqualTo(new ExecResult.End.Exited(0));
    }

    @Test
    default void exec_withoutInput_readsTheEndAtOnce() {
        assertThat(sandbox().exec("cat; echo done").out()).isEqualTo("done\n");
    }

    @Test
    default void exec_thatNeverReads_isKilledAtItsTimeout_withItsWholeSession() {
        ExecRequest request = ExecRequest.of("/bin/bash", "-c", "set -m; sleep 61 & sleep 62 & echo started; wait")
                .withInput(new byte[1 << 20])
                .withTimeout(Duration.ofMillis(700));

        ExecResult result = sandbox().exec(request);

        assertThat(result.end()).isInstanceOf(ExecResult.End.TimedOut.class);
        assertThat(result.status()).isEqualTo(124);
        assertThat(result.out()).isEqualTo("started\n");
        assertThat(sandbox().exec("pgrep -x sleep").status()).isEqualTo(1);
    }

    @Test
    default void exec_outputBeyondTheLimit_isReadAndDropped() {
        ExecResult result = sandbox()
                .exec(ExecRequest.of("/bin/bash", "-c", "head -c 3000000 /dev/zero; echo err >&2; exit 4")
                        .withOutputLimit(1000));

        assertThat(result.end()).isEqualTo(new ExecResult.End.Exited(4));
        assertThat(result.stdout()).hasSize(1000);
        assertThat(result.err()).isEqualTo("err\n");
        assertThat(result.truncated()).isTrue();
    }

    @Test
    default void exec_allOfALargeOutput_arrivesInOrder() {
        ExecResult result =
                sandbox().exec(ExecRequest.of("/bin/bash", "-c", "seq 1 200000").withOutputLimit(4 << 20));

        assertThat(result.out().lines()).hasSize(200_000).first().isEqualTo("1");
        assertThat(result.out()).endsWith("\n200000\n");
    }

    @Test
    default void exec_returnsThoughABackgroundProcessKeepsTheOutputOpen() {
        ExecResult result = sandbox().exec("echo before; (sleep 300; echo never) & echo after");

        assertThat(result.out()).isEqualTo("before\nafter\n");
        assertThat(result.status()).isZero();
    }

    @Test
    default void backgroundProcess_mayGoOnWriting_withoutSigpipe() {
        sandbox()
                .exec("(for i in $(seq 1 40); do head -c 10000 /dev/zero; done; echo survived > /tmp/survived) &"
                        + " echo started");

        ExecResult result = sandbox()
                .exec("for i in $(seq 1 200); do [ -s /tmp/survived ] && break; sleep 0.05; done; cat /tmp/survived");

        assertThat(result.out()).isEqualTo("survived\n");
    }

    @Test
    default void command_holdsNoDescriptorBesidesItsThree() {
        assertThat(sandbox().exec(ExecRequest.of("ls", "/proc/self/fd")).out()).isEqualTo("0\n1\n2\n3\n");
        assertThat(sandbox()
                        .exec(ExecRequest.of("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"))
                        .out())
                .isEqualTo("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
        assertThat(sandbox()
                        .exec("umask; ps -o pid=,sid=,pgid= -p $$ | xargs -n1 | sort -u | wc -l")
                        .out())
                .isEqualTo("0022\n1\n");
    }

    @Test
    default void exec_ofWhatIsNoProgram_fails() {
        fails(ErrorCode.EXEC_FAILED, () -> sandbox().exec(ExecRequest.of("no-such-program")));
        fails(ErrorCode.EXEC_FAILED, () -> sandbox().exec(ExecRequest.of("/etc/passwd")));
        fails(ErrorCode.EXEC_FAILED, () -> sandbox().exec(ExecRequest.of("true").withWorkingDirectory("/no/such")));
        fails(ErrorCode.EXEC_FAILED, () -> sandbox().exec(ExecRequest.of("echo", "a\0b")));
        fails(ErrorCode.EXEC_FAILED, () -> sandbox().exec(ExecRequest.of("echo", "x".repeat(200_000))));
        assertThat(sandbox().exec("echo fine").out()).isEqualTo("fine\n");
    }

    @Test
    default void commands_runSideBySide() throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(24);
        try {
            List<Future<ExecResult>> results = new ArrayList<>();
            for (int i = 0; i < 96; i++) {
                String text = "line " + i;
                results.add(executor.submit(() -> sandbox()
                        .exec(ExecRequest.of("/bin/bash", "-c", "read x; sleep 0.2; echo \"$x\"")
                                .withInput((text + "\n").getBytes(StandardCharsets.UTF_8)))));
            }
            for (int i = 0; i < results.size(); i++) {
                assertThat(results.get(i).get().out()).isEqualTo("line " + i + "\n");
            }
        } finally {
            executor.shutdownNow();
        }
    }

    @Test
    default void interruptedExec_isGivenUp_andItsCommandKilled() throws Exception {
        ExecutorService executor = Executors.newSingleThreadExecutor();
        try {
            Future<?> running = executor.submit(() -> sandbox().exec("touch /tmp/began; sleep 333"));
            sandbox().exec("until pgrep -x sleep; do :; done");
            running.cancel(true);

            ExecResult gone = sandbox()
                    .exec(
                            "for i in $(seq 1 100); do pgrep -x sleep > /dev/null || exit 0; read -t 0.05 < <(:); done; exit 1");

            assertThat(gone.status()).isZero();
        } finally {
            executor.shutdownNow();
        }
    }

    @Test
    default void file_writtenIsRead_andKeepsItsMode() {
        byte[] content = new byte[300_000];
        new Random(2).nextBytes(content);

        sandbox().writeFile("/scene/deep/er/file", content);
        assertThat(sandbox().readFile("/scene/deep/er/file", 300_000)).isEqualTo(content);
        assertThat(sandbox().exec("stat -c '%a %U' /scene/deep/er/file").out()).isEqualTo("644 root\n");

        sandbox().exec("chown 33:33 /scene/deep/er/file; chmod 4711 /scene/deep/er/file");
        sandbox().writeFile("/scene/deep/er/file", new byte[0]);
        assertThat(sandbox().readFile("/scene/deep/er/file", 0)).isEmpty();
        assertThat(sandbox()
                        .exec("stat -c '%a %u' /scene/deep/er/file; ls -A /scene/deep/er")
                        .out())
                .isEqualTo("4711 33\nfile\n");
    }

    @Test
    default void file_writtenThroughALink_leavesTheLink() {
        sandbox().exec("mkdir /d && echo old > /d/target && ln -s d/target /link");

        sandbox().writeFile("/link", "new".getBytes(StandardCharsets.UTF_8));

        assertThat(sandbox().exec("cat /d/target; readlink /link").out()).isEqualTo("newd/target\n");
    }

    @Test
    default void file_operationsThatCannotBe_fail() {
        sandbox().exec("mkfifo /tmp/fifo; echo 12345 > /tmp/six");

        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().readFile("/no/such/file", 10));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().readFile("/tmp", 10));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().readFile("/tmp/fifo", 10));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().readFile("/dev/zero", 10));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().readFile("/tmp/six", 5));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().readFile("relative", 5));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().writeFile("/tmp", new byte[100_000]));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().writeFile("/tmp/six/below", new byte[1]));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().writeFile("/proc/version", new byte[1]));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().listFiles("/tmp/six"));
        fails(ErrorCode.FILE_OPERATION_FAILED, () -> sandbox().listFiles("/no/such"));
        assertThat(sandbox().readFile("/tmp/six", 6)).hasSize(6);
    }

    @Test
    default void directory_isListedSortedWithTypes() {
        sandbox()
                .exec("mkdir -p /l/dir && cd /l && echo hi > file && ln -s file link && mkfifo pipe && echo x > 'z ü'");

        assertThat(sandbox().listFiles("/l"))
                .containsExactly(
                        new FileEntry("dir", FileEntry.Type.DIRECTORY, 0),
                        new FileEntry("file", FileEntry.Type.FILE, 3),
                        new FileEntry("link", FileEntry.Type.SYMLINK, 0),
                        new FileEntry("pipe", FileEntry.Type.OTHER, 0),
                        new FileEntry("z ü", FileEntry.Type.FILE, 2));
        sandbox().exec("mkdir /many && cd /many && seq 1 5000 | xargs touch");
        assertThat(sandbox().listFiles("/many")).hasSize(5000);
    }

    private static void fails(ErrorCode code, ThrowingCallable call) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(call)
                .satisfies(e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
    }
}
