package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Filesystems;
import dev.crab.runtime.os.OwnFiles;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A btrfs in the sparse file {@code <data>/btrfs.img}, mounted at {@code <data>/btrfs}. The caller sees to it that only one thread of one
 * process works on a data directory at a time.
 *
 * <p>The loop device reads and writes its file directly (no second page cache) and turns a flush into an fsync of the file, so that
 * what btrfs calls durable is. It detaches by itself when the file system is unmounted.
 */
final class LoopBtrfs {
    /** Less than this and mkfs.btrfs refuses, or leaves no room worth having. */
    static final long MIN_IMAGE_BYTES = 256L << 20;

    private static final String OPTIONS = "discard=async";

    private final Path image;
    private final Path mountPoint;

    LoopBtrfs(Path data) {
        this.image = image(data);
        this.mountPoint = data.resolve("btrfs");
    }

    /** The file of a data directory that holds its btrfs. */
    static Path image(Path data) {
        return data.resolve("btrfs.img");
    }

    /** Makes the file system if there is none, and mounts it if it is not. */
    void attach(long imageBytes) throws IOException {
        // Where its sandboxes are all gone a btrfs that an earlier failure left read-only is mounted anew at once; else
        // the opening of a session tries again after it has removed what its dead owner left.
        if (isMounted() && !(isReadOnly() && detachIfUnused())) {
            return;
        }
        if (!Files.exists(image, LinkOption.NOFOLLOW_LINKS)) {
            format(imageBytes);
        }
        OwnFiles.directory(mountPoint);
        String device = attachDevice();
        try {
            Filesystems.mountDevice(device, mountPoint, "btrfs", OPTIONS);
            Files.setPosixFilePermissions(mountPoint, PosixFilePermissions.fromString("rwx------"));
        } catch (IOException e) {
            throw unknownFileSystem(e);
        } finally {
            // With the file system mounted this only marks the device to go when it is unmounted.
            run("util-linux", "losetup", "--detach", device);
        }
    }

    /** Unmounts the file system if it is mounted. */
    void detach() throws IOException {
        if (isMounted()) {
            Filesystems.unmount(mountPoint);
        }
    }

    /** Whether the kernel has stopped writing to the mounted file system. */
    boolean isReadOnly() throws IOException {
        return isMounted() && Files.getFileStore(mountPoint).isReadOnly();
    }

    /** Unmounts it, unless anything in it is in use. */
    boolean detachIfUnused() throws IOException {
        try {
            detach();
            return true;
        } catch (FileSystemException e) {
            if (String.valueOf(e.getReason()).contains("busy")) {
                return false;
            }
            throw e;
        }
    }

    private String attachDevice() throws IOException {
        try {
            return run("util-linux", "losetup", "--find", "--show", "--direct-io=on", image.toString());
        } catch (IOException direct) {
            // Not every file system below can do direct input/output (tmpfs): then its page cache holds the data twice.
            try {
                return run("util-linux", "losetup", "--find", "--show", image.toString());
            } catch (IOException e) {
                e.addSuppressed(direct);
                throw e;
            }
        }
    }

    private boolean isMounted() throws IOException {
        // Field 5 of mountinfo is the mount point, with space, tab, newline and backslash as octal escapes; the type
        // follows " - ".
        String escaped = mountPoint
                .toString()
                .replace("\\", "\\134")
                .replace(" ", "\\040")
                .replace("\t", "\\011")
                .replace("\n", "\\012");
        for (String line : Files.readAllLines(Path.of("/proc/self/mountinfo"), StandardCharsets.ISO_8859_1)) {
            if (line.split(" ", 6)[4].equals(escaped)) {
                if (line.contains(" - btrfs ")) {
                    return true;
                }
                throw new IOException(mountPoint + " has something else than btrfs mounted on it");
            }
        }
        return false;
    }

    private void format(long imageBytes) throws IOException {
        long free = Files.getFileStore(image.getParent()).getUsableSpace();
        long size = Math.min(imageBytes, free / 10 * 8) >> 20 << 20;
        if (size < MIN_IMAGE_BYTES) {
            throw CrabException.of(
                    ErrorCode.DISK_FULL,
                    "a btrfs cannot be made in " + image,
                    free + " bytes are free there, and it needs " + MIN_IMAGE_BYTES + " in 80 % of that",
                    "free space on that file system, or name another data directory (crab.data)");
        }
        Path draft = image.resolveSibling("btrfs.img.new");
        Files.deleteIfExists(draft);
        try {
            Files.createFile(draft, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            try (FileChannel channel = FileChannel.open(draft, StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.allocate(1), size - 1);
            }
            // One copy of the metadata: two in one file on one disk protect from nothing that the disk does.
            run(
                    "btrfs-progs",
                    "mkfs.btrfs",
                    "--quiet",
                    "--nodiscard",
                    "--metadata",
                    "single",
                    "--label",
                    "crab",
                    draft.toString());
            try (FileChannel channel = FileChannel.open(draft, StandardOpenOption.WRITE)) {
                channel.force(true);
            }
            Files.move(draft, image, StandardCopyOption.ATOMIC_MOVE);
            try (FileChannel directory = FileChannel.open(image.getParent())) {
                directory.force(true);
            }
        } finally {
            Files.deleteIfExists(draft);
        }
    }

    private static IOException unknownFileSystem(IOException e) {
        String reason = String.valueOf(e.getMessage());
        if (reason.contains("No such device")) {
            throw missing("the kernel knows no btrfs (" + reason + ")", "load the kernel module btrfs", e);
        }
        return e;
    }

    private static CrabException missing(String why, String cure, IOException cause) {
        return CrabException.of(
                ErrorCode.BTRFS_MISSING, "snapshots of sandboxes' files cannot be taken", why, cure, cause);
    }

    /** Runs a tool to its end and returns what it wrote to standard output, trimmed. */
    private static String run(String distributionPackage, String... command) throws IOException {
        Process process;
        try {
            process = new ProcessBuilder(List.of(command))
                    .redirectErrorStream(true)
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .start();
        } catch (IOException e) {
            throw missing(
                    command[0] + " cannot be run (" + CrabException.reason(e) + ")",
                    "install the package " + distributionPackage + ", or run ./crab setup",
                    e);
        }
        try {
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
            if (!process.waitFor(5, TimeUnit.MINUTES)) {
                throw new IOException(command[0] + " does not end");
            }
            if (process.exitValue() != 0) {
                throw new IOException(String.join(" ", command) + ": " + output);
            }
            return output;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException(command[0] + " was interrupted").initCause(e);
        } finally {
            process.destroyForcibly();
        }
    }
}
