package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Room for what lives only while a capture or a restore is under way. Each process has a directory of its own, named after its pid and
 * start, so that whoever comes next can tell what a dead one left from what a living one is using.
 */
final class WorkDirectory implements AutoCloseable {
    private static final FileAttribute<?> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private final Path own;

    WorkDirectory(Path parent) {
        Path process = parent.resolve(nameOf(ProcessHandle.current()));
        try {
            Files.createDirectories(parent, PRIVATE);
            List<Path> left;
            try (Stream<Path> all = Files.list(parent)) {
                left = all.filter(directory -> !isOwned(directory)).toList();
            }
            for (Path directory : left) {
                delete(directory);
            }
            Files.createDirectories(process, PRIVATE);
            own = Files.createTempDirectory(process, "engine-", PRIVATE);
        } catch (IOException e) {
            throw CrabException.io("the work directory " + parent + " cannot be used", e);
        }
    }

    /** This process's own directory. */
    Path path() {
        return own;
    }

    /** Makes a new, empty directory. */
    Path make(String prefix) {
        try {
            return Files.createTempDirectory(own, prefix + "-", PRIVATE);
        } catch (IOException e) {
            throw CrabException.io("no directory can be made in " + own, e);
        }
    }

    /** Deletes a directory that {@link #make} made, with its files. Idempotent. */
    static void delete(Path directory) {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (NoSuchFileException e) {
            // gone already
        } catch (IOException e) {
            throw CrabException.io(directory + " cannot be deleted", e);
        }
    }

    private static String nameOf(ProcessHandle process) {
        return process.pid() + "-"
                + process.info()
                        .startInstant()
                        .map(start -> start.toEpochMilli())
                        .orElse(0L);
    }

    private static boolean isOwned(Path directory) {
        String name = directory.getFileName().toString();
        try {
            Optional<ProcessHandle> owner =
                    ProcessHandle.of(Long.parseLong(name.substring(0, Math.max(0, name.indexOf('-')))));
            return owner.isPresent() && nameOf(owner.get()).equals(name);
        } catch (NumberFormatException e) {
            return false;
        }
    }

    @Override
    public void close() {
        delete(own);
    }
}
