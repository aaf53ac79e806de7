package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Btrfs;
import dev.crab.runtime.os.Executables;
import dev.crab.runtime.os.Filesystems;
import dev.crab.runtime.os.OwnFiles;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

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

    /** Its cleaner comes by every 30 seconds. */
    private static final long GIVEN_BACK_NANOS = 40_000_000_000L;

    static BtrfsHome open(Path data, long imageBytes) {
        Path real = DataLock.prepare(data);
        Path directory = real.resolve("btrfs");
        return DataLock.exclusively(real, () -> {
            SnapshotHolding.check(real, SnapshotKind.BTRFS);
            if (isBtrfs(real)) {
                OwnFiles.directory(directory);
                return new BtrfsHome(real, directory, false, Files.getFileStore(real));
            }
            new LoopBtrfs(real).attach(imageBytes);
            return new BtrfsHome(real, directory, true, Files.getFileStore(real));
        });
    }

    /** Fails with DISK_FULL if the btrfs has less room than that many bytes, or the file that holds it could not grow by as many. */
    void ensureRoom(long bytes) {
        try {
            // A loop device that cannot write makes the btrfs in it read-only, as does a btrfs without room for its own
            // bookkeeping: refuse before that.
            ensureRoom(Files.getFileStore(directory), bytes);
            if (looped) {
                ensureRoom(below, bytes);
            }
        } catch (IOException e) {
            throw CrabException.io("free space of " + data + " cannot be told", e);
        }
    }

    /**
     * As {@link #ensureRoom(long)}, but where there is none, waits for what was deleted to be given back: btrfs does that in the
     * background, and a file system that has just been full shows no free byte until then.
     */
    void awaitRoom(long bytes) {
        long deadline = System.nanoTime() + GIVEN_BACK_NANOS;
        while (true) {
            try {
                ensureRoom(bytes);
                return;
            } catch (CrabException full) {
                if (full.code() != ErrorCode.DISK_FULL || System.nanoTime() > deadline) {
                    throw full;
                }
                try {
                    Btrfs.sync(directory);
                } catch (IOException e) {
                    // Its file cannot grow, so that there is nothing to wait for.
                    full.addSuppressed(e);
                    throw full;
                }
            }
            LockSupport.parkNanos(250_000_000);
        }
    }

    private void ensureRoom(FileStore store, long bytes) throws IOException {
        long free = store.getUsableSpace();
        if (free < bytes) {
            throw CrabException.of(
                    ErrorCode.DISK_FULL,
                    "nothing can be added to " + directory,
                    free + " bytes are free on " + store.name() + ", " + bytes + " are kept in reserve",
                    "free space on that file system, then run again: what was committed is kept");
        }
    }

    /** Mounts the btrfs in the file anew if the kernel has made it read-only. */
    void recover() {
        if (!looped) {
            return;
        }
        DataLock.exclusively(data, () -> {
            LoopBtrfs loop = new LoopBtrfs(data);
            if (loop.isReadOnly()) {
                if (!loop.detachIfUnused()) {
                    throw CrabException.of(
                            ErrorCode.DATA_DIRECTORY_UNUSABLE,
                            "snapshots cannot be written below " + directory,
                            "a full or failing disk made its btrfs read-only, and other sandboxes still use it",
                            "free space, close or stop those sandboxes (./crab stop), then run again:"
                                    + " what was committed is kept");
                }
                loop.attach(DEFAULT_IMAGE_BYTES);
            }
            return loop;
        });
    }

    /** What a btrfs needs and this host lacks; empty where the directory is on btrfs. */
    static List<String> lacks(Path existing) throws IOException {
        if (isBtrfs(existing)) {
            return List.of();
        }
        List<String> lacks = new ArrayList<>();
        if (!Filesystems.isKnown("btrfs")) {
            lacks.add("the kernel's btrfs");
        }
        for (String program : List.of("mkfs.btrfs", "losetup")) {
            if (Executables.find(program).isEmpty()) {
                lacks.add(program);
            }
        }
        if (!Files.exists(Path.of("/dev/loop-control"))) {
            lacks.add("/dev/loop-control");
        }
        return lacks;
    }

    static String where(Path data, Path existing) throws IOException {
        return isBtrfs(existing) ? existing + " is on btrfs" : "it lies in a loop-mounted file below " + data;
    }

    private static boolean isBtrfs(Path directory) throws IOException {
        return Files.getFileStore(directory).type().equals("btrfs");
    }
}
