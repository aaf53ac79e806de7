package dev.crab.samples.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the shim leaves of a small program's files when it cuts the power. */
class ShimTest {
    /** Those of {@link Program}; the power fails before the last of them. */
    private static final int OPERATIONS = 15;

    @TempDir
    private Path work;

    @Test
    void whatWasFlushedStays_andNothingElse() throws Exception {
        Path sessions = run(Map.of("MODE", "power", "AT", "15", "KEEP", "nothing"));
        assertThat(names(sessions)).containsExactly("flushed", "removed", "replaced");
        assertThat(sessions.resolve("flushed")).hasContent("flushed");
        assertThat(sessions.resolve("replaced")).hasContent("old");
    }

    @Test
    void tornWrite_isShorterThanTheWholeOne_andTheRestIsThere() throws Exception {
        Path sessions = run(Map.of("MODE", "power", "AT", "15", "KEEP", "torn", "SEED", "5"));
        assertThat(names(sessions)).contains("replaced", "unflushed").doesNotContain("new");
        assertThat(sessions.resolve("replaced")).hasContent("new");
        assertThat(Files.size(sessions.resolve("unflushed"))).isLessThan(9);
    }

    @Test
    void failingOperation_failsInTheProgram() throws Exception {
        assertThat(status(Map.of("MODE", "enospc", "AT", "2"))).isEqualTo(1);
        assertThat(status(Map.of("MODE", "count"))).isZero();
    }

    @Test
    void counting_countsEveryOperation() throws Exception {
        Path log = work.resolve("log");
        assertThat(status(Map.of("MODE", "count", "LOG", log.toString()))).isZero();
        assertThat(Files.readAllLines(log)).hasSize(OPERATIONS);
    }

    private Path run(Map<String, String> settings) throws Exception {
        assertThat(status(settings)).isEqualTo(137);
        return work.resolve("data/sessions");
    }

    private int status(Map<String, String> settings) throws Exception {
        Path data = Files.createDirectories(work.resolve("data"));
        Files.createDirectories(data.resolve("sessions"));
        Files.createDirectories(work.resolve("stash"));
        Files.write(work.resolve("control"), new byte[Control.BYTES]);
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                VictimJvm.classPath(),
                Program.class.getName(),
                data.resolve("sessions").toString());
        builder.environment().put("LD_PRELOAD", Shim.install(work).toString());
        builder.environment().put("CRAB_SHIM_ROOT", data.toString());
        builder.environment().put("CRAB_SHIM_STASH", work.resolve("stash").toString());
        builder.environment().put("CRAB_SHIM_CONTROL", work.resolve("control").toString());
        settings.forEach((name, value) -> builder.environment().put("CRAB_SHIM_" + name, value));
        return builder.redirectError(ProcessBuilder.Redirect.DISCARD).start().waitFor();
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    /** Fifteen operations, of which the first nine are durable. */
    static final class Program {
        private Program() {}

        public static void main(String[] arguments) throws IOException {
            Path directory = Path.of(arguments[0]);
            List<RandomAccessFile> open = new ArrayList<>();
            write(open, directory.resolve("flushed"), "flushed", true); // 1 to 3
            write(open, directory.resolve("replaced"), "old", true); // 4 to 6
            write(open, directory.resolve("removed"), "", true); // 7 and 8
            sync(directory); // 9
            write(open, directory.resolve("new"), "new", false); // 10, 11
            Files.move(
                    directory.resolve("new"),
                    directory.resolve("replaced"),
                    StandardCopyOption.ATOMIC_MOVE,
                    StandardCopyOption.REPLACE_EXISTING); // 12
            write(open, directory.resolve("unflushed"), "unflushed", false); // 13, 14
            Files.delete(directory.resolve("removed")); // 15
            for (RandomAccessFile file : open) {
                file.close();
            }
        }

        private static void write(List<RandomAccessFile> open, Path path, String text, boolean flush)
                throws IOException {
            RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw");
            open.add(file);
            if (!text.isEmpty()) {
                file.writeBytes(text);
            }
            if (flush) {
                file.getFD().sync();
            }
        }

        private static void sync(Path directory) throws IOException {
            try (FileChannel channel = FileChannel.open(directory)) {
                channel.force(true);
            }
        }
    }
}
