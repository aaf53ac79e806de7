package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.os.DraftDirectory;
import dev.crab.runtime.os.OwnFiles;
import dev.crab.runtime.os.ProcFs;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
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
 * ({@link DraftDirectory}), in one that is named after its process and that process's start. Whoever comes next removes what nobody has
 * locked, unless the process lives: a lock alone tells of one in another pid namespace, whose pid means nothing here.
 */
final class WorkDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WorkDirectory.class);

    private static final FileAttribute<?> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private static final Pattern PROCESS = Pattern.compile("[0-9]{1,10}-[0-9]{1,20}");
    private static final Pattern ENGINE = Pattern.compile("engine-[0-9]{1,20}");

    private final Path process;
    private final Path own;
    private final DraftDirectory lock;

    /**
     * Makes a new one, and removes what dead ones left beside it; what is not named as this class does is left alone.
     *
     * @throws CrabException DATA_DIRECTORY_UNUSABLE if {@code parent} is a link or no directory; DISK_FULL, IO_FAILED
     */
    WorkDirectory(Path parent) {
        process = parent.resolve(nameOf(ProcessHandle.current().pid()));
        try {
            OwnFiles.directory(parent);
            for (Path directory : directories(parent, PROCESS)) {
                if (!isOfLiving(directory)) {
                    sweep(directory);
                }
            }
            lock = makeOwn();
            own = lock.path();
        } catch (IOException e) {
            throw CrabException.io("the work directory " + parent + " cannot be used", e);
        }
    }

    private static void sweep(Path directory) throws IOException {
        for (Path engine : directories(directory, ENGINE)) {
            DraftDirectory.sweep(engine);
        }
        removeIfEmpty(directory);
    }

    private static void removeIfEmpty(Path directory) throws IOException {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            // Another one is at work in it.
        }
    }

    private static List<Path> directories(Path parent, Pattern name) throws IOException {
        try (Stream<Path> all = Files.list(parent)) {
            return all.filter(directory ->
                            name.matcher(directory.getFileName().toString()).matches()
                                    && Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS))
                    .toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    private DraftDirectory makeOwn() throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                OwnFiles.directory(process);
                long unique = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
                return DraftDirectory.begin(process.resolve("engine-" + unique));
            } catch (NoSuchFileException | FileAlreadyExistsException e) {
                // Another one of this process was closed meanwhile, and was the last there.
                if (attempt == 1000) {
                    throw e;
                }
            }
        }
    }

    private static String nameOf(long pid) {
        return pid + "-" + ProcFs.started(pid).orElse(0);
    }

    private static boolean isOfLiving(Path directory) {
        String name = directory.getFileName().toString();
        long pid = Long.parseLong(name.substring(0, name.indexOf('-')));
        return ProcFs.started(pid).isPresent() && nameOf(pid).equals(name);
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

    /** Deletes the files in a directory that {@link #make} made. */
    static void empty(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw CrabException.io(directory + " cannot be emptied", e);
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
        try {
            removeIfEmpty(process);
        } catch (IOException e) {
            throw CrabException.io(process + " cannot be deleted", e);
        }
    }
}
