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
 * @param own its file system; kept, for looking it up reads the list of the host's mounts, to which each sandbox adds some
 * @param looped whether a file holds it
 * @param below the file system of the data directory
 */
record BtrfsHome(Path data, Path directory, FileStore own, boolean looped, FileStore below) {
    /** Size of a new loop file, unless less is free: 64 GiB. It is sparse: it takes what is stored in it. */
    static final long DEFAULT_IMAGE_BYTES = 64L << 30;

    /** The cleaner of btrfs comes by every 30 seconds at the latest. */
    private static final long ROOM_NANOS = 40_000_000_000L;

    /** A sandbox may be standing still meanwhile. */
    private static final long MOMENT_NANOS = 5_000_000_000L;

    private static final String FREE_SPACE =
            "free space on that file system, then run again: what was committed is kept";

    static BtrfsHome open(Path data, long imageBytes) {
        Path real = DataLock.prepare(data);
        Path directory = real.resolve("btrfs");
        return DataLock.exclusively(real, () -> {
            SnapshotHolding.check(real, SnapshotKind.BTRFS);
            if (isBtrfs(real)) {
                OwnFiles.directory(directory);
                return new BtrfsHome(real, directory, Files.getFileStore(directory), false, Files.getFileStore(real));
            }
            new LoopBtrfs(real).attach(imageBytes);
            return new BtrfsHome(real, directory, Files.getFileStore(directory), true, Files.getFileStore(real));
        });
    }

    /** Fails with DISK_FULL if the btrfs has less room than that many bytes, or the file that holds it could not grow by as many. */
    void ensureRoom(long bytes) {
        try {
            // A loop device that cannot write makes the btrfs in it read-only, as does a btrfs without room for its own
            // bookkeeping: refuse before that.
            long free = own.getUsableSpace();
            if (free < bytes) {
                throw full("nothing can be added to " + directory, lack(free, directory.toString(), bytes));
            }
            long freeBelow = looped ? below.getUsableSpace() : bytes;
            if (freeBelow < bytes) {
                throw CrabException.of(
                        ErrorCode.DISK_FULL,
                        "nothing can be added to " + directory,
                        lack(freeBelow, below.name(), bytes),
                        FREE_SPACE);
            }
        } catch (IOException e) {
            throw CrabException.io("free space of " + data + " cannot be told", e);
        }
    }

    /** Makes a subvolume or a snapshot. */
    @FunctionalInterface
    interface Making {
        void make() throws IOException;
    }

    /** As {@link #make}, but a btrfs that shows less room than that many bytes is waited for as well: for when no sandbox stands still. */
    void makeOnceThereIsRoom(long bytes, Making making) throws IOException {
        make(ROOM_NANOS, () -> {
            ensureRoom(bytes);
            making.make();
        });
    }

    /** Fails like {@link #ensureRoom(long)}, at once; after that it waits a moment for room that btrfs itself finds missing. */
    void makeIfThereIsRoom(long bytes, Making making) throws IOException {
        ensureRoom(bytes);
        make(MOMENT_NANOS, making);
    }

    /**
     * Makes something; where there is no room, waits for what was deleted to be given back and tries again. Btrfs gives it back in the
     * background: a file system that has just been full shows no free byte until then, and while it is being given back there may be none
     * for metadata although bytes are free.
     */
    private void make(long patienceNanos, Making making) throws IOException {
        long deadline = System.nanoTime() + patienceNanos;
        while (true) {
            try {
                making.make();
                return;
            } catch (CrabException | IOException full) {
                if (!isFull(full)
                        || System.nanoTime() > deadline
                        || Thread.currentThread().isInterrupted()) {
                    throw full;
                }
                try {
                    Btrfs.syncAndClean(directory);
                } catch (IOException e) {
                    // Its file cannot grow, so that there is nothing to wait for.
                    full.addSuppressed(e);
                    throw full;
                }
            }
            LockSupport.parkNanos(250_000_000);
        }
    }

    private static boolean isFull(Exception e) {
        CrabException refusal = e instanceof CrabException crab ? crab : CrabException.io("", (IOException) e);
        return refusal.code() == ErrorCode.DISK_FULL;
    }

    /** What went wrong, in words that name the file that holds the btrfs where that is what is full. */
    CrabException failed(String what, IOException e) {
        return looped && isFull(e) ? full(what, CrabException.reason(e)) : CrabException.io(what, e);
    }

    private static String lack(long free, String where, long bytes) {
        return free + " bytes are free on " + where + ", " + bytes + " are kept in reserve";
    }

    private CrabException full(String what, String why) {
        return looped
                ? CrabException.of(
                        ErrorCode.DISK_FULL,
                        what,
                        why + " (the btrfs in " + LoopBtrfs.image(data) + ")",
                        "delete sessions (./crab delete), or make that file larger (docs/operations.md, \"Disk\"),"
                                + " then run again: what was committed is kept")
                : CrabException.of(ErrorCode.DISK_FULL, what, why, FREE_SPACE);
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
