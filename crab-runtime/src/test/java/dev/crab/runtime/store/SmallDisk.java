package dev.crab.runtime.store;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.awaitility.Awaitility;

/** Real file systems that are small, read-only or failing, mounted for one test and gone after it. Needs root. */
public final class SmallDisk implements AutoCloseable {
    private final Path root;
    private final Deque<List<String>> undo = new ArrayDeque<>();

    private SmallDisk(Path root) {
        this.root = root;
    }

    /** A tmpfs of that many KiB. */
    public static SmallDisk tmpfs(Path at, int kibibytes) throws IOException {
        SmallDisk disk = new SmallDisk(Files.createDirectories(at));
        run("mount", "-t", "tmpfs", "-o", "mode=700,size=" + kibibytes + "k", "crab-test", at.toString());
        disk.undo.push(List.of("umount", at.toString()));
        return disk;
    }

    /**
     * An ext4 that believes to have 64 MiB on a device that has room for far less: writing succeeds (into the page cache), and the flush
     * fails.
     */
    public static SmallDisk failing(Path at) throws IOException {
        Path backing = at.resolve("backing");
        SmallDisk disk = tmpfs(backing, 4096);
        boolean ready = false;
        try {
            Path image = backing.resolve("image");
            Path mount = Files.createDirectories(at.resolve("mount"));
            run("truncate", "-s", "64M", image.toString());
            run("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "nodiscard", image.toString());
            String device = run("losetup", "--find", "--show", image.toString()).strip();
            disk.undo.push(List.of("losetup", "--detach", device));
            run("mount", "-t", "ext4", device, mount.toString());
            disk.undo.push(List.of("umount", mount.toString()));
            ready = true;
            SmallDisk result = new SmallDisk(mount);
            result.undo.addAll(disk.undo);
            return result;
        } finally {
            if (!ready) {
                disk.close();
            }
        }
    }

    /** An xfs or ext4 of that many MiB in a sparse file. */
    public static SmallDisk formatted(Path at, String type, int mebibytes) throws IOException {
        Path image = Files.createDirectories(at).resolve(type + ".img");
        Path mount = Files.createDirectories(at.resolve(type));
        SmallDisk disk = new SmallDisk(mount);
        run("truncate", "-s", mebibytes + "M", image.toString());
        disk.undo.push(List.of("rm", image.toString()));
        run("mkfs." + type, "-q", image.toString());
        run("mount", "-o", "loop,noatime", image.toString(), mount.toString());
        disk.undo.push(List.of("umount", mount.toString()));
        return disk;
    }

    public void readOnly() throws IOException {
        run("mount", "-o", "remount,ro", root.toString());
    }

    public Path root() {
        return root;
    }

    /** Unmounts what the kernel may hold for a moment longer. */
    public static void unmount(Path where) {
        patiently(List.of("umount", where.toString()));
    }

    /**
     * The kernel lets go of a loop device's file some time after what was on it was unmounted, and a program that starts in mount namespaces
     * of its own anywhere on the host has all mounts for a moment.
     */
    private static void patiently(List<String> command) {
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
            try {
                run(command.toArray(new String[0]));
                return true;
            } catch (IOException e) {
                if (String.valueOf(e.getMessage()).contains("busy")) {
                    return false;
                }
                throw e;
            }
        });
    }

    private static String run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int status = process.onExit().join().exitValue();
        if (status != 0) {
            throw new IOException(String.join(" ", command) + " ended with " + status + ": " + output);
        }
        return output;
    }

    @Override
    public void close() {
        for (List<String> command : undo) {
            patiently(command);
        }
        undo.clear();
    }
}
