package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.NativeLong;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Mounting and unmounting in this process's mount namespace. Thread-safe. */
public final class Mounts {
    private Mounts() {}

    /**
     * One mount as {@code /proc/self/mountinfo} lists it.
     *
     * @param point where
     * @param type file system type, for instance {@code cgroup2}
     * @param options the file system's own options, comma-separated
     */
    public record Mount(Path point, String type, String options) {}

    /** Mounts an overlay with {@code noatime}. The paths may hold any character. */
    public static void overlay(Path lower, Path upper, Path work, Path point) throws IOException {
        String options = "lowerdir=" + escape(lower) + ",upperdir=" + escape(upper) + ",workdir=" + escape(work);
        try {
            LibC.C.mount("crab", point.toString(), "overlay", new NativeLong(LibC.MS_NOATIME), options);
        } catch (LastErrorException e) {
            throw Errno.of("mount overlay " + options + " on " + point, e);
        }
    }

    /** Mounts {@code source} (a file or directory) on {@code point} too. */
    public static void bind(Path source, Path point) throws IOException {
        try {
            LibC.C.mount(source.toString(), point.toString(), "none", new NativeLong(LibC.MS_BIND), "");
        } catch (LastErrorException e) {
            throw Errno.of("bind mount " + source + " on " + point, e);
        }
    }

    /**
     * Makes a directory readable at another place where nothing can be written, run, or used as a device. What is mounted on the point
     * already is taken for an earlier call's.
     */
    public static void readOnly(Path source, Path point) throws IOException {
        if (list().stream().noneMatch(mount -> mount.point().equals(point))) {
            bind(source, point);
        }
        int flags = LibC.MS_REMOUNT | LibC.MS_BIND | LibC.MS_RDONLY | LibC.MS_NOSUID | LibC.MS_NODEV | LibC.MS_NOEXEC;
        try {
            LibC.C.mount("none", point.toString(), "none", new NativeLong(flags), "");
        } catch (LastErrorException e) {
            throw Errno.of("read-only mount of " + source + " on " + point, e);
        }
    }

    /** Unmounts all that is mounted on the point; nothing mounted is success. What is busy is detached and goes when its users do. */
    public static void unmount(Path point) throws IOException {
        while (true) {
            try {
                LibC.C.umount2(point.toString(), 0);
            } catch (LastErrorException e) {
                if (e.getErrorCode() == LibC.EINVAL || e.getErrorCode() == LibC.ENOENT) {
                    return;
                }
                if (e.getErrorCode() != LibC.EBUSY) {
                    throw Errno.of("umount " + point, e);
                }
                detach(point);
            }
        }
    }

    private static void detach(Path point) throws IOException {
        try {
            LibC.C.umount2(point.toString(), LibC.MNT_DETACH);
        } catch (LastErrorException e) {
            throw Errno.of("umount (detach) " + point, e);
        }
    }

    /** All mounts of this process's namespace, in the kernel's order. Format: proc(5), mountinfo. */
    public static List<Mount> list() throws IOException {
        List<Mount> mounts = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of("/proc/self/mountinfo"))) {
            String[] halves = line.split(" - ", 2);
            String[] left = halves[0].split(" ", -1);
            String[] right = halves[1].split(" ", -1);
            mounts.add(new Mount(Path.of(unescape(left[4])), right[0], right.length > 2 ? right[2] : ""));
        }
        return mounts;
    }

    private static String escape(Path path) {
        return path.toAbsolutePath().toString().replaceAll("([\\\\:,])", "\\\\$1");
    }

    private static String unescape(String field) {
        return field.replace("\\040", " ")
                .replace("\\011", "\t")
                .replace("\\012", "\n")
                .replace("\\134", "\\");
    }
}
