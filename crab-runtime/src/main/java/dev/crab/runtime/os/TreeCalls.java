package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The calls that make and remove directory trees, each from an open directory. Names are bytes with a zero at the end. Direct mapping:
 * they are made several times for each file.
 */
final class TreeCalls {
    static final int O_WRONLY = 1;
    static final int O_CREAT = 0100;
    static final int O_EXCL = 0200;
    static final int O_NONBLOCK = 04000;
    static final int O_TMPFILE = 020000000 | LibC.O_DIRECTORY;
    static final int AT_SYMLINK_NOFOLLOW = 0x100;
    static final int AT_REMOVEDIR = 0x200;
    static final int SEEK_SET = 0;
    static final int SEEK_DATA = 3;
    static final int SEEK_HOLE = 4;
    static final int LOCK_EX = 2;
    static final int LOCK_NB = 4;
    static final int RENAME_NOREPLACE = 1;
    static final long UTIME_OMIT = (1L << 30) - 2;
    static final long FICLONE = 0x40049409;
    static final long FS_IOC_GETFLAGS = 0x80086601L;
    static final long FS_IOC_SETFLAGS = 0x40086602;
    static final int FS_IMMUTABLE = 0x10;
    static final int FS_APPEND = 0x20;

    static final int EPERM = 1;
    static final int EEXIST = 17;
    static final int EXDEV = 18;
    static final int EISDIR = 21;
    static final int ENXIO = 6;
    static final int EWOULDBLOCK = 11;
    static final int ENOTTY = 25;

    static {
        Native.register(TreeCalls.class, "c");
    }

    private TreeCalls() {}

    static native int openat(int directory, byte[] name, int flags, int mode) throws LastErrorException;

    static native int mkdirat(int directory, byte[] name, int mode) throws LastErrorException;

    static native int mknodat(int directory, byte[] name, int mode, long device) throws LastErrorException;

    static native int symlinkat(byte[] target, int directory, byte[] name) throws LastErrorException;

    static native int linkat(int fromDirectory, byte[] from, int toDirectory, byte[] to, int flags)
            throws LastErrorException;

    static native int renameat2(int fromDirectory, byte[] from, int toDirectory, byte[] to, int flags)
            throws LastErrorException;

    static native int unlinkat(int directory, byte[] name, int flags) throws LastErrorException;

    static native int fchown(int fd, int uid, int gid) throws LastErrorException;

    static native int fchownat(int directory, byte[] name, int uid, int gid, int flags) throws LastErrorException;

    static native int fchmod(int fd, int mode) throws LastErrorException;

    static native int fchmodat(int directory, byte[] name, int mode, int flags) throws LastErrorException;

    static native int futimens(int fd, Pointer times) throws LastErrorException;

    static native int utimensat(int directory, byte[] name, Pointer times, int flags) throws LastErrorException;

    static native int fsetxattr(int fd, byte[] name, byte[] value, long size, int flags) throws LastErrorException;

    static native int lsetxattr(byte[] path, byte[] name, byte[] value, long size, int flags) throws LastErrorException;

    static native int ioctl(int fd, long request, long argument) throws LastErrorException;

    static native int ftruncate(int fd, long size) throws LastErrorException;

    static native long lseek(int fd, long offset, int whence) throws LastErrorException;

    static native long copy_file_range(int from, Pointer fromOffset, int to, Pointer toOffset, long size, int flags)
            throws LastErrorException;

    static native int flock(int fd, int operation) throws LastErrorException;

    static native int fstatat(int directory, byte[] name, Pointer stat, int flags) throws LastErrorException;

    /** A name or path as C has it. Each char stands for one byte. */
    static byte[] cString(String bytes) {
        byte[] name = bytes.getBytes(StandardCharsets.ISO_8859_1);
        return Arrays.copyOf(name, name.length + 1);
    }

    /** Opens a directory that is no link. */
    static NativeFd openDirectory(int at, byte[] name) {
        return new NativeFd(openat(at, name, LibC.O_RDONLY | LibC.O_DIRECTORY | LibC.O_NOFOLLOW | LibC.O_CLOEXEC, 0));
    }

    /** The names in a directory, from its beginning even if the descriptor was read to the end before. */
    static List<byte[]> names(NativeFd directory, Memory buffer) {
        lseek(directory.number(), 0, SEEK_SET);
        return FileTree.names(directory, buffer);
    }

    /** The inode's number; {@code struct stat} of x86-64 has it at offset 8. */
    static long inode(int directory, byte[] name, Memory stat) {
        fstatat(directory, name, stat, AT_SYMLINK_NOFOLLOW);
        return stat.getLong(8);
    }

    /** Sets and clears inode flags such as {@link #FS_IMMUTABLE}. */
    static void changeFlags(int fd, int set, int clear) {
        try (Memory flags = new Memory(8)) {
            flags.clear();
            ioctl(fd, FS_IOC_GETFLAGS, Pointer.nativeValue(flags));
            flags.setInt(0, (flags.getInt(0) & ~clear) | set);
            ioctl(fd, FS_IOC_SETFLAGS, Pointer.nativeValue(flags));
        }
    }
}
