package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * Where a data directory's btrfs is: the directory {@code <data>/btrfs}, on the host's own btrfs or on one in a loop-mounted file.
 *
 * @param data the data directory
 * @param directory {@code <data>/btrfs}
 * @param looped whether a file holds it
 * @param below the file system of the data directory
 */
record BtrfsHome(Path data, Path directory, boolean looped, FileStore below) {
    /** Size of a new loop file, unless less is free: 64 GiB. It is sparse: it takes what is stored in it. */
    static final long DEFAULT_IMAGE_BYTES = 64L << 30;

    private static final Object IN_THIS_PROCESS = new Object();

    static BtrfsHome open(Path data, long imageBytes) {
        Path real = prepare(data);
        Path directory = real.resolve("btrfs");
        return exclusively(real, () -> {
            if (isBtrfs(real)) {
                Files.createDirectories(
                        directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
                return new BtrfsHome(real, directory, false, Files.getFileStore(real));
            }
            new LoopBtrfs(real).attach(imageBytes);
            return new BtrfsHome(real, directory, true, Files.getFileStore(real));
        });
    }

    static void release(Path data) {
        if (Files.isDirectory(data)) {
            Path real = prepare(data);
            exclusively(real, () -> {
                new LoopBtrfs(real).detach();
                return real;
            });
        }
    }

    /** Fails with DISK_FULL if the file that holds the btrfs could not grow by that many bytes. */
    void ensureRoom(long bytes) {
        if (!looped) {
            return;
        }
        try {
            long free = below.getUsableSpace();
            if (free < bytes) {
                // A loop device that cannot write makes the btrfs in it read-only for good: refuse before that.
                throw CrabException.of(
                        ErrorCode.DISK_FULL,
                        "nothing can be added to " + directory,
                        free + " bytes are free on the file system of " + data + ", " + bytes + " are kept in reserve",
                        "free space on that file system, then run again: what was committed is kept");
            }
        } catch (IOException e) {
            throw CrabException.io("free space of " + data + " cannot be told", e);
        }
    }

    private static Path prepare(Path data) {
        try {
            Files.createDirectories(
                    data, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            Path real = data.toRealPath();
            if (!Files.isWritable(real)) {
                throw new AccessDeniedException(real.toString(), null, "Read-only file system or no permission");
            }
            return real;
        } catch (IOException e) {
            throw unusable(data, e);
        }
    }

    private static boolean isBtrfs(Path directory) throws IOException {
        return Files.getFileStore(directory).type().equals("btrfs");
    }

    /** An action that may fail in a file operation. */
    private interface Action<T> {
        T run() throws IOException;
    }

    /** Runs an action while no other thread or process is attaching or detaching in that data directory. */
    private static <T> T exclusively(Path data, Action<T> action) {
        // A file lock belongs to the whole process, so that threads need a lock of their own.
        synchronized (IN_THIS_PROCESS) {
            try (FileChannel channel =
                    FileChannel.open(data.resolve("btrfs.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                channel.lock();
                return action.run();
            } catch (AccessDeniedException e) {
                throw unusable(data, e);
            } catch (IOException e) {
                CrabException failure = CrabException.io("the btrfs of " + data + " cannot be attached", e);
                throw failure.code() == ErrorCode.DISK_FULL ? failure : unusable(data, e);
            }
        }
    }

    private static CrabException unusable(Path data, IOException cause) {
        CrabException failure = CrabException.io("data directory " + data + " cannot be used", cause);
        return failure.code() == ErrorCode.DISK_FULL
                ? failure
                : CrabException.of(
                        ErrorCode.DATA_DIRECTORY_UNUSABLE,
                        failure.what(),
                        failure.why(),
                        "name a directory that root can write to (crab.data, CRAB_DATA)",
                        cause);
    }
}
