package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
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

    /** Where small images go if it is a tmpfs; on most hosts all of {@code /run} is one, elsewhere {@code ./crab setup} mounts one. */
    static final Path MEMORY = Path.of("/run/crab");

    private static final Logger LOG = LoggerFactory.getLogger(DumpRoom.class);

    private final WorkDirectory disk;
    private final @Nullable WorkDirectory memory;

    DumpRoom(Path disk, Path memory) {
        this.disk = new WorkDirectory(disk);
        this.memory = isTmpfs(memory) ? new WorkDirectory(memory.resolve("work")) : null;
    }

    private static boolean isTmpfs(Path directory) {
        try {
            return Files.isDirectory(directory)
                    && Files.getFileStore(directory).type().equals("tmpfs");
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
        WorkDirectory fast = memory;
        return onDisk || fast == null || expected > IN_MEMORY || !fits(fast, expected)
                ? disk.make("dump")
                : fast.make("dump");
    }

    private void ensureRoom(String sandbox) {
        long free;
        try {
            free = Files.getFileStore(disk.path()).getUsableSpace();
        } catch (IOException e) {
            throw CrabException.io("the room for the dump of sandbox " + sandbox + " cannot be told", e);
        }
        if (free < RESERVE) {
            throw CrabException.of(
                    ErrorCode.DISK_FULL,
                    "sandbox " + sandbox + " cannot be captured",
                    free + " bytes are free for its dump at " + disk.path() + ", " + RESERVE + " are kept in reserve",
                    "free space on that file system, then commit again: what was committed is kept");
        }
    }

    /** An empty directory on the disk, for the images of a restore. */
    Path forRestore() {
        return disk.make("restore");
    }

    private static boolean fits(WorkDirectory memory, long expected) {
        try {
            FileStore store = Files.getFileStore(memory.path());
            // Several sandboxes may be at it at once, and what CRIU adds to the pages is not counted.
            return expected < store.getUsableSpace() / 4;
        } catch (IOException e) {
            LOG.debug("images go to the disk: the room of {} cannot be told", memory.path(), e);
            return false;
        }
    }

    @Override
    public void close() {
        disk.close();
        if (memory != null) {
            memory.close();
        }
    }
}
