package dev.crab.runtime.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.os.ProcFs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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
    void starting_removesWhatTheDeadLeft_andNotWhatTheLivingUse() throws Exception {
        Process living = new ProcessBuilder("sleep", "infinity").start();
        try {
            long started = ProcFs.started(living.pid()).orElseThrow();
            Path theirs = Files.createDirectories(parent.resolve(living.pid() + "-" + started + "/engine-1"));
            Path reused = Files.createDirectories(parent.resolve(living.pid() + "-" + (started - 1) + "/engine-1"));
            Path dead = Files.createDirectories(parent.resolve("4194305-1/engine-1/dump-1"));
            Files.writeString(dead.resolve("pages-1.img"), "pages");

            try (WorkDirectory own = new WorkDirectory(parent)) {
                assertThat(own.path()).isDirectory();
                assertThat(theirs).isDirectory();
                assertThat(reused).doesNotExist();
                assertThat(dead).doesNotExist();
            }
            assertThat(theirs).isDirectory();
        } finally {
            living.destroyForcibly().onExit().join();
        }
    }

    @Test
    void startingSideBySide_removesTheSameLeftoversWithoutComplaint() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 30; round++) {
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
