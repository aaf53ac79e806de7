package dev.crab.samples.store;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * A disk whose content can be had as it is at an instant: an ext4 in a file that a loop device reads and writes directly, on a btrfs that
 * can clone that file in one step. What the file has got is what a disk would have got; the rest is in the page cache of the ext4 above.
 */
final class Disk implements AutoCloseable {
    private static final long OUTER_BYTES = 8L << 30;
    private static final long INNER_BYTES = 2L << 30;

    /** What holds a disk for longer is a fault. */
    private static final Duration BUSY = Duration.ofSeconds(30);

    private final Path directory;
    private final Path outer;
    private final Path mountPoint;
    private boolean mounted;

    /** Makes the disk, empty, below a directory. */
    Disk(Path directory) throws IOException {
        this.directory = Files.createDirectories(directory);
        outer = directory.resolve("disks");
        mountPoint = Files.createDirectories(directory.resolve("disk"));
        Path file = directory.resolve("disks.img");
        allocate(file, OUTER_BYTES);
        Tool.run("mkfs.btrfs", "--quiet", "--metadata", "single", file.toString());
        Files.createDirectories(outer);
        mount(file, outer);
        allocate(outer.resolve("empty"), INNER_BYTES);
        Tool.run("mkfs.ext4", "-q", "-m", "0", outer.resolve("empty").toString());
        Tool.run("sync", "-f", outer.toString());
    }

    private static void allocate(Path file, long bytes) throws IOException {
        Files.deleteIfExists(file);
        try (RandomAccessFile created = new RandomAccessFile(file.toFile(), "rw")) {
            created.setLength(bytes);
        }
    }

    /** Where the disk is mounted. */
    Path mountPoint() {
        return mountPoint;
    }

    /** Mounts a copy of a content; what happens to it leaves that content as it is. */
    void insert(String content) throws IOException {
        if (mounted) {
            throw new IllegalStateException("a disk is in the drive");
        }
        Files.deleteIfExists(outer.resolve("inserted"));
        Tool.run(
                "cp",
                "--reflink=always",
                outer.resolve(content).toString(),
                outer.resolve("inserted").toString());
        mount(outer.resolve("inserted"), mountPoint);
        mounted = true;
    }

    /** Keeps what the disk has got until now. The clone is one step of the file system below: no write falls into it. */
    void keep(String content) throws IOException {
        Files.deleteIfExists(outer.resolve(content));
        Tool.run(
                "cp",
                "--reflink=always",
                outer.resolve("inserted").toString(),
                outer.resolve(content).toString());
    }

    /** Unmounts it, with everything written. */
    void eject() throws IOException {
        if (mounted) {
            unmount(mountPoint);
            mounted = false;
        }
    }

    /** Patiently: a program that starts in mount namespaces of its own anywhere on the host has all mounts for a moment. */
    private static void unmount(Path where) throws IOException {
        long begin = System.nanoTime();
        while (true) {
            try {
                Tool.run("umount", where.toString());
                return;
            } catch (IOException e) {
                List<String> held = held(where);
                if (!held.isEmpty() || System.nanoTime() - begin > BUSY.toNanos()) {
                    throw new IOException("open here: " + held, e);
                }
                LockSupport.parkNanos(50_000_000);
            }
        }
    }

    /** What this JVM has open below a directory. */
    private static List<String> held(Path directory) throws IOException {
        List<String> held = new ArrayList<>();
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                Path target = target(descriptor);
                if (target.startsWith(directory)) {
                    held.add(target.toString());
                }
            }
        }
        return held;
    }

    private static Path target(Path descriptor) throws IOException {
        try {
            return Files.readSymbolicLink(descriptor);
        } catch (NoSuchFileException e) {
            return descriptor; // closed meanwhile
        }
    }

    private static void mount(Path file, Path where) throws IOException {
        String device = Tool.run("losetup", "--find", "--show", "--direct-io=on", file.toString());
        try {
            Tool.run("mount", device, where.toString());
        } finally {
            Tool.run("losetup", "--detach", device); // goes when it is unmounted
        }
    }

    /** Leaves nothing behind. */
    @Override
    public void close() throws IOException {
        eject();
        unmount(outer);
        Place.deleteTree(directory);
    }
}
