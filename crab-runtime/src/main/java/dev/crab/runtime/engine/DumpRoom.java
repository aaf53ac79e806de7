package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where CRIU writes the images of a dump while the sandbox stands still: small ones into memory (a tmpfs), which takes a fifth of the time
 * off a dump of a few megabytes, others below the data directory. Either way they live until they are packed into an object. Thread-safe.
 */
final class DumpRoom implements AutoCloseable {
    /** Bytes that must be free on the disk before a dump is begun: 64 MiB. One that finds it full half way has held the sandbox for nothing. */
    static final long RESERVE = 64L << 20;

    /** A dump is in memory only if it is expected to take at most this: 64 MiB. */
    static final long IN_MEMORY = 64L << 20;

    /**
     * Where small images go if it is a tmpfs with nothing else in it; {@code ./crab setup} mounts one. A dump may take more than was
     * expected (deleted files and shared memory go along), and what shares its room would fail with it: on most hosts all of {@code /run}
     * is one tmpfs, with the files of every running sandbox.
     */
    static final Path MEMORY = Path.of("/run/crab/dumps");

    private static final String DEVICE = "unix:dev";

    private static final Logger LOG = LoggerFactory.getLogger(DumpRoom.class);

    /** A work directory and the file system that it is on; looking that up takes longer than asking for its room. */
    private record Place(WorkDirectory work, FileStore store) {
        static Place at(Path directory) {
            WorkDirectory work = new WorkDirectory(directory);
            try {
                return new Place(work, Files.getFileStore(work.path()));
            } catch (IOException e) {
                work.close();
                throw CrabException.io("what " + directory + " lies on cannot be told", e);
            }
        }
    }

    private final Place disk;
    private final @Nullable Place memory;

    DumpRoom(Path disk, Path memory) {
        this.disk = Place.at(disk);
        this.memory = isTmpfsOfItsOwn(memory) ? inMemory(memory) : null;
    }

    /** Null if it cannot be used (read-only, full): the disk does as well, and takes longer. */
    private static @Nullable Place inMemory(Path directory) {
        try {
            return Place.at(directory);
        } catch (CrabException e) {
            LOG.warn("images go to the disk: {} cannot be used", directory, e);
            return null;
        }
    }

    private static boolean isTmpfsOfItsOwn(Path directory) {
        try {
            return Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
                    && Files.getFileStore(directory).type().equals("tmpfs")
                    && !Files.getAttribute(directory, DEVICE)
                            .equals(Files.getAttribute(directory.resolve(".."), DEVICE));
        } catch (IOException e) {
            LOG.debug("images go to the disk: what {} lies on cannot be told", directory, e);
            return false;
        }
    }

    /**
     * Makes an empty directory for a dump.
     *
     * @param expected bytes of memory that the processes have for themselves
     * @param onDisk whether it has to be on the disk, since memory did not do
     * @throws CrabException DISK_FULL if the disk has less than {@link #RESERVE}; IO_FAILED
     */
    Path forDump(String sandbox, long expected, boolean onDisk) {
        ensureRoom(sandbox);
        Place fast = memory;
        return onDisk || fast == null || expected > IN_MEMORY || !fits(fast, expected)
                ? disk.work.make("dump")
                : fast.work.make("dump");
    }

    private void ensureRoom(String sandbox) {
        long free;
        try {
            free = disk.store.getUsableSpace();
        } catch (IOException e) {
            throw CrabException.io("the room for the dump of sandbox " + sandbox + " cannot be told", e);
        }
        if (free < RESERVE) {
            throw CrabException.of(
                    ErrorCode.DISK_FULL,
                    "sandbox " + sandbox + " cannot be captured",
                    free + " bytes are free for its dump at " + disk.work.path() + ", " + RESERVE
                            + " are kept in reserve",
                    "free space on that file system, then commit again: what was committed is kept");
        }
    }

    /** An empty directory on the disk, for the images of a restore. */
    Path forRestore() {
        return disk.work.make("restore");
    }

    private static boolean fits(Place memory, long expected) {
        try {
            // Several sandboxes may be at it at once, and what CRIU adds to the pages is not counted.
            return expected < memory.store.getUsableSpace() / 4;
        } catch (IOException e) {
            LOG.debug("images go to the disk: the room of {} cannot be told", memory.work.path(), e);
            return false;
        }
    }

    @Override
    public void close() {
        disk.work.close();
        if (memory != null) {
            memory.work.close();
        }
    }
}
