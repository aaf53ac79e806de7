package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.OwnFiles;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/** One at a time makes, mounts and unmounts the place of a data directory's snapshots. */
final class DataLock {
    private static final Object IN_THIS_PROCESS = new Object();

    private DataLock() {}

    /** An action that may fail in a file operation. */
    interface Action<T> {
        T run() throws IOException;
    }

    /** Makes the data directory if it is missing; gives its real path. */
    static Path prepare(Path data) {
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

    /** Runs an action while no other thread or process does in that data directory. */
    static <T> T exclusively(Path data, Action<T> action) {
        // A file lock belongs to the whole process, so that threads need a lock of their own.
        synchronized (IN_THIS_PROCESS) {
            Path lock = data.resolve("snapshots.lock");
            try {
                OwnFiles.requireFileOrNothing(lock);
                return locked(lock, action);
            } catch (OwnFiles.UnfitException e) {
                throw CrabException.of(
                        ErrorCode.DATA_DIRECTORY_UNUSABLE,
                        "data directory " + data + " cannot be used",
                        e.getFile() + ": " + e.getReason(),
                        "remove it, while no program uses that data directory",
                        e);
            } catch (AccessDeniedException e) {
                throw unusable(data, e);
            } catch (IOException e) {
                CrabException failure =
                        CrabException.io("the place of the snapshots of " + data + " cannot be opened", e);
                throw failure.code() == ErrorCode.DISK_FULL ? failure : unusable(data, e);
            }
        }
    }

    private static <T> T locked(Path lock, Action<T> action) throws IOException {
        try (FileChannel channel = FileChannel.open(
                lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            channel.lock();
            return action.run();
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
