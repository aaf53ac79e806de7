package dev.crab.runtime.snapshot;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A data directory for tests, on disk, that leaves nothing behind. */
public final class TestDataDirectory implements AutoCloseable {
    private final Path path;

    public TestDataDirectory() throws IOException {
        path = Files.createTempDirectory(Path.of("/var/tmp"), "crab-test-").toRealPath();
    }

    public Path path() {
        return path;
    }

    @Override
    public void close() throws IOException {
        Snapshotters.release(path);
        try (Stream<Path> files = Files.walk(path)) {
            List<Path> deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
            for (Path file : deepestFirst) {
                Files.delete(file);
            }
        }
    }
}
