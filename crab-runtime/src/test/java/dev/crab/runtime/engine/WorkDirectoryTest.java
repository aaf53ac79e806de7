package dev.crab.runtime.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WorkDirectoryTest {
    @TempDir
    private Path parent;

    @Test
    void closing_leavesNothing_butWhatOthersOfThisProcessUse() {
        WorkDirectory first = new WorkDirectory(parent);
        WorkDirectory second = new WorkDirectory(parent);
        first.make("dump");
        Path used = second.make("dump");

        first.close();
        assertThat(used).isDirectory();
        second.close();
        assertThat(parent).isEmptyDirectory();
    }

    @Test
    void starting_removesWhatTheDeadLeft_andNotWhatOneOfAnotherPidNamespaceUses() throws Exception {
        Path dead = Files.createDirectories(parent.resolve("4194305-1/engine-1/dump-1"));
        Files.writeString(dead.resolve("pages-1.img"), "pages");
        Process living = new ProcessBuilder(
                        "unshare",
                        "--pid",
                        "--fork",
                        "--kill-child",
                        "--mount-proc",
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holder.class.getName(),
                        parent.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Path theirs = Path.of(new BufferedReader(new InputStreamReader(living.getInputStream(), UTF_8)).readLine());
        try {
            assertThat(theirs).isDirectory();
            assertThat(dead).doesNotExist();
            try (WorkDirectory own = new WorkDirectory(parent)) {
                assertThat(own.path()).isDirectory();
                assertThat(theirs).isDirectory();
            }
            assertThat(theirs).isDirectory();
        } finally {
            living.destroyForcibly().onExit().join();
        }
        Awaitility.await().until(() -> {
            new WorkDirectory(parent).close();
            return Files.notExists(theirs);
        });
    }

    /** The other process. */
    static final class Holder {
        private Holder() {}

        public static void main(String[] arguments) throws IOException {
            try (WorkDirectory own = new WorkDirectory(Path.of(arguments[0]))) {
                System.out.println(own.path());
                System.in.read();
            }
        }
    }

    @Test
    void whatIsNotCrabs_isLeftAlone() throws IOException {
        Path stranger = Files.createDirectories(parent.resolve("photos/of-1999"));
        Path file = Files.createFile(parent.resolve("4194305-7"));
        new WorkDirectory(parent).close();
        assertThat(stranger).isDirectory();
        assertThat(file).exists();
    }

    @Test
    void linkToAnotherDirectory_isRefusedAndNothingIsDeletedThere() throws IOException {
        Path theirs = Files.createDirectories(parent.resolve("other/4194305-1"));
        Path link = Files.createSymbolicLink(parent.resolve("work"), parent.resolve("other"));
        assertThatThrownBy(() -> new WorkDirectory(link))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DATA_DIRECTORY_UNUSABLE));
        assertThat(theirs).isDirectory();
    }

    @Test
    void startingSideBySide_removesTheSameLeftoversWithoutComplaint() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 10; round++) {
                for (int i = 0; i < 40; i++) {
                    Path dump = Files.createDirectories(parent.resolve("4194305-" + i + "/engine-1/dump-" + i));
                    Files.writeString(dump.resolve("pages-1.img"), "pages");
                }
                List<Future<?>> starts = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    starts.add(threads.submit(() -> new WorkDirectory(parent).close()));
                }
                for (Future<?> start : starts) {
                    start.get();
                }
                assertThat(parent).isEmptyDirectory();
            }
        } finally {
            threads.shutdown();
        }
    }
}
