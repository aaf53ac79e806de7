package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.os.ProcFs;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Room for what lives only while a capture or a restore is under way. Each process has a directory of its own, named after its pid and
 * start, so that whoever comes next can tell what a dead one left from what a living one is using.
 */
final class WorkDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WorkDirectory.class);

    private static final FileAttribute<?> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private final Path process;
    private final Path own;

    WorkDirectory(Path parent) {
        process = parent.resolve(nameOf(ProcessHandle.current().pid()));
        try {
            Files.createDirectories(parent, PRIVATE);
            List<Path> left;
            try (Stream<Path> all = Files.list(parent)) {
                left = all.filter(directory -> !isOwned(directory)).toList();
            }
            for (Path directory : left) {
                delete(directory);
            }
            own = makeOwn();
        } catch (IOException e) {
            throw CrabException.io("the work directory " + parent + " cannot be used", e);
        }
    }

    private Path makeOwn() throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                Files.createDirectories(process, PRIVATE);
                return Files.createTempDirectory(process, "engine-", PRIVATE);
            } catch (NoSuchFileException | FileAlreadyExistsException e) {
                // Another one of this process was closed meanwhile, and was the last there.
                if (attempt == 1000) {
                    throw e;
                }
            }
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

    /** Deletes a directory that {@link #make} made, with its files; so may another process at the same time. Idempotent. */
    static void delete(Path directory) {
        try {
            Files.walkFileTree(directory, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    Files.deleteIfExists(file);
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
                    return unlessGone(failure);
                }

                @Override
                public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException failure)
                        throws IOException {
                    if (failure == null) {
                        Files.deleteIfExists(visited);
                        return FileVisitResult.CONTINUE;
                    }
                    return unlessGone(failure);
                }
            });
        } catch (IOException e) {
            throw CrabException.io(directory + " cannot be deleted", e);
        }
    }

    /** The same, behind the caller's back. What cannot be deleted goes with {@link #close}. */
    static void deleteSoon(Path directory, Executor threads) {
        threads.execute(() -> {
            try {
                delete(directory);
            } catch (CrabException e) {
                LOG.warn("{} is left for now", directory, e);
            }
        });
    }

    private static FileVisitResult unlessGone(IOException failure) throws IOException {
        if (failure instanceof NoSuchFileException) {
            return FileVisitResult.CONTINUE;
        }
        throw failure;
    }

    private static String nameOf(long pid) {
        return pid + "-" + ProcFs.started(pid).orElse(0);
    }

    private static boolean isOwned(Path directory) {
        String name = directory.getFileName().toString();
        try {
            long pid = Long.parseLong(name.substring(0, Math.max(0, name.indexOf('-'))));
            return ProcFs.started(pid).isPresent() && nameOf(pid).equals(name);
        } catch (NumberFormatException e) {
            return false;
        }
    }

    @Override
    public void close() {
        delete(own);
        try {
            Files.deleteIfExists(process);
        } catch (DirectoryNotEmptyException e) {
            // Another one of this process is at work in it.
        } catch (IOException e) {
            throw CrabException.io(process + " cannot be deleted", e);
        }
    }
}
