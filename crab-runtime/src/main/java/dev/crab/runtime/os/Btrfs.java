package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * The btrfs operations that exist only as ioctls. Layouts and numbers: {@code linux/btrfs.h} ({@code btrfs_ioctl_vol_args} and
 * {@code btrfs_ioctl_vol_args_v2}, both 4096 bytes).
 */
public final class Btrfs {
    private static final long SUBVOL_CREATE = iow(14, 4096);
    private static final long WAIT_SYNC = iow(22, 8);
    private static final long SNAP_CREATE_V2 = iow(23, 4096);
    private static final long START_SYNC = ior(24, 8);
    private static final long SUBVOL_GETFLAGS = ior(25, 8);
    private static final long SNAP_DESTROY_V2 = iow(63, 4096);

    private static final long SUBVOL_RDONLY = 2;
    private static final int ARGS_NAME = 8;
    private static final int ARGS_NAME_MAX = 4087;
    private static final int ARGS_V2_FLAGS = 16;
    private static final int ARGS_V2_NAME = 56;
    private static final int ARGS_V2_NAME_MAX = 4039;

    private Btrfs() {}

    private static long iow(int number, int size) {
        return 1L << 30 | (long) size << 16 | 0x94 << 8 | number;
    }

    private static long ior(int number, int size) {
        return 2L << 30 | (long) size << 16 | 0x94 << 8 | number;
    }

    /** Makes an empty subvolume. */
    public static void createSubvolume(Path parent, String name) throws IOException {
        try (Memory args = new Memory(4096)) {
            args.clear();
            setName(args, ARGS_NAME, ARGS_NAME_MAX, name);
            call(parent, parent.resolve(name), SUBVOL_CREATE, args);
        }
    }

    /** Makes a snapshot. The file system has committed it when this returns. */
    public static void snapshot(Path subvolume, Path parent, String name, boolean readOnly) throws IOException {
        try (NativeFd source = open(subvolume);
                Memory args = new Memory(4096)) {
            args.clear();
            args.setLong(0, source.number());
            args.setLong(ARGS_V2_FLAGS, readOnly ? SUBVOL_RDONLY : 0);
            setName(args, ARGS_V2_NAME, ARGS_V2_NAME_MAX, name);
            call(parent, parent.resolve(name), SNAP_CREATE_V2, args);
        }
    }

    /** Deletes a subvolume or snapshot with all that is in it; fails with NoSuchFileException if it is not there. */
    public static void deleteSubvolume(Path parent, String name) throws IOException {
        try (Memory args = new Memory(4096)) {
            args.clear();
            setName(args, ARGS_V2_NAME, ARGS_V2_NAME_MAX, name);
            call(parent, parent.resolve(name), SNAP_DESTROY_V2, args);
        }
    }

    /** Whether the subvolume is read-only. */
    public static boolean isReadOnly(Path subvolume) throws IOException {
        try (Memory flags = new Memory(8)) {
            flags.clear();
            call(subvolume, subvolume, SUBVOL_GETFLAGS, flags);
            return (flags.getLong(0) & SUBVOL_RDONLY) != 0;
        }
    }

    /** Returns once everything that was done to the file system before the call is on disk. */
    public static void sync(Path anywhere) throws IOException {
        try (NativeFd fd = open(anywhere);
                Memory transaction = new Memory(8)) {
            transaction.clear();
            ioctl(fd, anywhere, START_SYNC, transaction);
            ioctl(fd, anywhere, WAIT_SYNC, transaction);
        }
    }

    private static void call(Path directory, Path subject, long request, Pointer args) throws IOException {
        try (NativeFd fd = open(directory)) {
            ioctl(fd, subject, request, args);
        }
    }

    private static void ioctl(NativeFd fd, Path subject, long request, Pointer args) throws IOException {
        while (true) {
            try {
                LibC.C.ioctl(fd.number(), new NativeLong(request), args);
                return;
            } catch (LastErrorException e) {
                if (e.getErrorCode() != LibC.EINTR) {
                    throw IoErrors.asIoException(subject.toString(), e);
                }
            }
        }
    }

    private static NativeFd open(Path directory) throws IOException {
        try {
            return new NativeFd(LibC.C.open(
                    directory.toString(), LibC.O_RDONLY | LibC.O_DIRECTORY | LibC.O_NOFOLLOW | LibC.O_CLOEXEC, 0));
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(directory.toString(), e);
        }
    }

    private static void setName(Memory args, int offset, int max, String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > max || name.indexOf('/') >= 0 || name.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("not a name for a subvolume: " + name);
        }
        args.write(offset, bytes, 0, bytes.length);
    }
}
