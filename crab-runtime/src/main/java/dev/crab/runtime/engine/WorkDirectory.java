package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.os.DraftDirectory;
import dev.crab.runtime.os.OwnFiles;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Room for what lives only while a capture or a restore is under way. Each has a directory of its own, locked as long as it lives
 * ({@link DraftDirectory}): so whoever comes next tells what a dead one left from what a living one uses, also one whose pid means nothing
 * here, because it runs in another pid namespace.
 */
final class WorkDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WorkDirectory.class);

    private static final FileAttribute<?> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    /** A pid, to be read by people, and a number that makes it unique. Nothing else is swept. */
    private static final Pattern NAME = Pattern.compile("[0-9]{1,10}-[0-9]{1,20}");

    private final Path own;
    private final DraftDirectory lock;

    /**
     * Makes a new one, and removes what dead ones left beside it.
     *
     * @throws CrabException DATA_DIRECTORY_UNUSABLE if {@code parent} is a link or no directory; DISK_FULL, IO_FAILED
     */
    WorkDirectory(Path parent) {
        try {
            OwnFiles.directory(parent);
            for (Path directory : left(parent)) {
                DraftDirectory.sweep(directory);
            }
            long unique = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
            lock = DraftDirectory.begin(parent.resolve(ProcessHandle.current().pid() + "-" + unique));
            own = lock.path();
        } catch (IOException e) {
            throw CrabException.io("the work directory " + parent + " cannot be used", e);
        }
    }

    private static List<Path> left(Path parent) throws IOException {
        try (Stream<Path> all = Files.list(parent)) {
            return all.filter(directory ->
                            NAME.matcher(directory.getFileName().toString()).matches()
                                    && Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS))
                    .toList();
        }
    }

    /** Its directory. */
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

    @Override
    public void close() {
        // Some may still be at it behind their caller's back, which this deletion does not mind.
        try (DraftDirectory held = lock) {
            try (Stream<Path> all = Files.list(held.path())) {
                all.toList().forEach(WorkDirectory::delete);
            }
        } catch (IOException e) {
            throw CrabException.io(own + " cannot be deleted", e);
        }
    }
}
