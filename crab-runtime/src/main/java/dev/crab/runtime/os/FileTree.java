package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Walks a directory tree that others filled, exactly: names are bytes, whatever encoding this process believes in (Java's own paths lose
 * what does not fit it), no link is followed, and each step goes from an open directory, so that paths may be longer than the kernel
 * takes at once.
 *
 * <p>The tree must not change meanwhile. Order: a directory before its entries, the entries by name as unsigned bytes.
 *
 * <p>Longer than most classes here because the layouts of statx and getdents64 stand beside the walk that reads them.
 */
public final class FileTree {
    /** What is called for each entry. */
    @FunctionalInterface
    public interface Visitor {
        /** The entry, whose {@link Entry#sha256} can be asked for only during this call. */
        void visit(Entry entry) throws IOException;
    }

    /** Directories may be nested this deep; a deeper tree is refused. */
    public static final int MAX_DEPTH = 2000;

    /** Files up to this many bytes have plain digests: 1 MiB. */
    public static final long PLAIN_DIGEST_LIMIT = FileDigest.PLAIN_LIMIT;

    private static final int SHOWN = 100;
    private static final Comparator<byte[]> BYTES = Arrays::compareUnsigned;
    private static final int AT_SYMLINK_NOFOLLOW = 0x100;
    private static final int STATX_BASIC_STATS = 0x7ff;
    private static final int S_IFMT = 0170000;
    private static final int BUFFER = 1 << 17;

    /** Direct mapping: a tree of ten thousand files takes fifty thousand calls. */
    static final class Calls {
        static {
            Native.register(Calls.class, "c");
        }

        static native int openat(int directory, byte[] name, int flags, int mode) throws LastErrorException;

        static native long getdents64(int fd, Pointer buffer, long size) throws LastErrorException;

        static native int statx(int directory, byte[] name, int flags, int mask, Pointer result)
                throws LastErrorException;

        static native long readlinkat(int directory, byte[] name, Pointer buffer, long size) throws LastErrorException;

        static native long llistxattr(byte[] path, Pointer list, long size) throws LastErrorException;

        static native long lgetxattr(byte[] path, byte[] name, Pointer value, long size) throws LastErrorException;

        static native long pread(int fd, Pointer buffer, long size, long offset) throws LastErrorException;

        static native long lseek(int fd, long offset, int whence) throws LastErrorException;
    }

    private final Visitor visitor;
    private final Memory buffer = new Memory(BUFFER);
    private final Memory stat = new Memory(256);
    private final FileDigest digest = new FileDigest();

    private FileTree(Visitor visitor) {
        this.visitor = visitor;
    }

    /**
     * Visits the root (with an empty path) and everything below it.
     *
     * @throws CrabException LIMIT_EXCEEDED if directories are nested deeper than {@link #MAX_DEPTH}
     */
    public static void walk(Path root, Visitor visitor) throws IOException {
        FileTree tree = new FileTree(visitor);
        try (tree.buffer;
                tree.stat;
                tree.digest;
                NativeFd top = openDirectory(LibC.AT_FDCWD, cString(root.toString()), new byte[0])) {
            // "." of the directory itself, so that the root is described like every other entry.
            tree.visitor.visit(tree.describe(top, cString("."), new byte[0]));
            tree.descend(top);
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(root.toString(), e);
        }
    }

    /** A directory on the way from the root to the entry that is visited. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Level(NativeFd fd, byte[] path, Iterator<byte[]> names) {}

    /** A list of levels instead of calls within calls: how deep a tree may be is not for a thread's stack to say. */
    private void descend(NativeFd top) throws IOException {
        Deque<Level> levels = new ArrayDeque<>();
        levels.push(new Level(top, new byte[0], names(top, buffer).iterator()));
        try {
            while (!levels.isEmpty()) {
                Level level = levels.element();
                if (!level.names.hasNext()) {
                    levels.pop();
                    level.fd.close(); // the root's is closed twice, which does nothing
                    continue;
                }
                byte[] name = level.names.next();
                byte[] child = join(level.path, name);
                Level below = visit(level, Arrays.copyOf(name, name.length + 1), child, levels.size());
                if (below != null) {
                    levels.push(below);
                }
            }
        } finally {
            levels.forEach(level -> level.fd.close());
        }
    }

    /** Visits an entry; returns what is in it if it is a directory. */
    private @Nullable Level visit(Level level, byte[] cName, byte[] path, int depth) throws IOException {
        try {
            Entry entry = describe(level.fd, cName, path);
            visitor.visit(entry);
            entry.tree = null;
            if (entry.type() != Entry.Type.DIRECTORY) {
                return null;
            }
            if (depth > MAX_DEPTH) {
                throw tooDeep(path);
            }
            NativeFd fd = openDirectory(level.fd.number(), cName, path);
            try {
                return new Level(fd, path, names(fd, buffer).iterator());
            } catch (RuntimeException e) {
                fd.close();
                throw e;
            }
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(printable(path), e);
        }
    }

    private static CrabException tooDeep(byte[] path) {
        String shown = printable(path);
        return CrabException.of(
                ErrorCode.LIMIT_EXCEEDED,
                "the sandbox's files cannot be saved",
                "directories are nested deeper than " + MAX_DEPTH + " below "
                        + shown.substring(0, Math.min(shown.length(), SHOWN)) + "…",
                "remove that tree in the sandbox, or move what is deep in it up");
    }

    /** The names in a directory but {@code .} and {@code ..}, sorted as unsigned bytes. */
    static List<byte[]> names(NativeFd directory, Memory buffer) {
        List<byte[]> names = new ArrayList<>();
        long length;
        while ((length = Calls.getdents64(directory.number(), buffer, buffer.size())) > 0) {
            // struct linux_dirent64: u64 d_ino, s64 d_off, u16 d_reclen, u8 d_type, char d_name[]
            for (long at = 0; at < length; at += buffer.getShort(at + 16) & 0xffff) {
                int size = (int) buffer.indexOf(at + 19, (byte) 0);
                byte[] name = buffer.getByteArray(at + 19, size);
                if (!(size == 1 && name[0] == '.') && !(size == 2 && name[0] == '.' && name[1] == '.')) {
                    names.add(name);
                }
            }
        }
        names.sort(BYTES);
        return names;
    }

    private Entry describe(NativeFd directory, byte[] cName, byte[] path) {
        // struct statx of linux/stat.h: attributes 8, nlink 16, uid 20, gid 24, mode 28, ino 32, size 40, ctime 96,
        // mtime 112, rdev
        // 128/132
        Calls.statx(directory.number(), cName, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, stat);
        Entry entry = new Entry(path);
        entry.flags = stat.getLong(8);
        entry.links = Integer.toUnsignedLong(stat.getInt(16));
        entry.uid = Integer.toUnsignedLong(stat.getInt(20));
        entry.gid = Integer.toUnsignedLong(stat.getInt(24));
        int mode = stat.getShort(28) & 0xffff;
        entry.type = Entry.Type.of(mode & S_IFMT);
        entry.permissions = mode & ~S_IFMT;
        entry.inode = stat.getLong(32);
        entry.size = entry.type == Entry.Type.FILE ? stat.getLong(40) : 0;
        entry.changedSeconds = stat.getLong(96);
        entry.changedNanos = stat.getInt(104);
        entry.modifiedSeconds = stat.getLong(112);
        entry.modifiedNanos = stat.getInt(120);
        entry.deviceMajor = Integer.toUnsignedLong(stat.getInt(128));
        entry.deviceMinor = Integer.toUnsignedLong(stat.getInt(132));
        if (entry.type == Entry.Type.SYMLINK) {
            int length = (int) Calls.readlinkat(directory.number(), cName, buffer, BUFFER);
            entry.target = buffer.getByteArray(0, length);
        }
        entry.attributes = attributes(directory, cName);
        entry.tree = this;
        entry.directory = directory;
        entry.cName = cName;
        return entry;
    }

    /** Extended attributes can only be asked for by a path: one through the open directory, so that it is short and follows nothing. */
    private SortedMap<String, byte[]> attributes(NativeFd directory, byte[] cName) {
        SortedMap<String, byte[]> attributes = new TreeMap<>();
        byte[] path = join(("/proc/self/fd/" + directory.number()).getBytes(StandardCharsets.US_ASCII), cName);
        int length;
        try {
            length = (int) Calls.llistxattr(path, buffer, BUFFER);
        } catch (LastErrorException e) {
            if (e.getErrorCode() == IoErrors.ENOTSUP) {
                return attributes;
            }
            throw e;
        }
        byte[] list = buffer.getByteArray(0, length);
        for (int at = 0; at < length; ) {
            int end = at;
            while (list[end] != 0) {
                end++;
            }
            byte[] name = Arrays.copyOfRange(list, at, end + 1);
            int size = (int) Calls.lgetxattr(path, name, buffer, BUFFER);
            attributes.put(new String(list, at, end - at, StandardCharsets.ISO_8859_1), buffer.getByteArray(0, size));
            at = end + 1;
        }
        return attributes;
    }

    private static NativeFd openDirectory(int at, byte[] cName, byte[] path) throws IOException {
        int flags = LibC.O_RDONLY | LibC.O_DIRECTORY | LibC.O_NOFOLLOW | LibC.O_CLOEXEC;
        try {
            return new NativeFd(Calls.openat(at, cName, flags, 0));
        } catch (LastErrorException e) {
            throw new FileSystemException(printable(path), null, IoErrors.text(e.getErrorCode()));
        }
    }

    private static byte[] cString(String path) {
        byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
        return Arrays.copyOf(bytes, bytes.length + 1);
    }

    private static byte[] join(byte[] directory, byte[] name) {
        byte[] path = Arrays.copyOf(directory, directory.length + 1 + name.length);
        path[directory.length] = '/';
        System.arraycopy(name, 0, path, directory.length + 1, name.length);
        return path;
    }

    private static String printable(byte[] path) {
        return path.length == 0 ? "/" : new String(path, StandardCharsets.UTF_8);
    }

    /** An open file of a tree. Not thread-safe. */
    public static final class Content implements AutoCloseable {
        private final NativeFd fd;
        private final byte[] path;
        private final long size;

        private Content(NativeFd fd, byte[] path, long size) {
            this.fd = fd;
            this.path = path;
            this.size = size;
        }

        /** As {@link Entry#sha256}. */
        public String sha256(FileDigest digest) throws IOException {
            try {
                return digest.of(fd, size);
            } catch (LastErrorException e) {
                throw IoErrors.asIoException(printable(path), e);
            }
        }

        @Override
        public void close() {
            fd.close();
        }
    }

    /** One entry of a tree as the kernel describes it. */
    @SuppressWarnings("NullAway.Init") // filled in by describe, which is the only one to make one
    public static final class Entry {
        /** Kinds of entries. */
        public enum Type {
            FILE('f', 0100000),
            DIRECTORY('d', 0040000),
            SYMLINK('l', 0120000),
            FIFO('p', 0010000),
            SOCKET('s', 0140000),
            CHARACTER('c', 0020000),
            BLOCK('b', 0060000);

            private final char letter;
            private final int mode;

            Type(char letter, int mode) {
                this.letter = letter;
                this.mode = mode;
            }

            /** One letter, as find(1) prints it. */
            public char letter() {
                return letter;
            }

            static Type of(int mode) {
                for (Type type : values()) {
                    if (type.mode == mode) {
                        return type;
                    }
                }
                throw new IllegalStateException("unknown file type " + Integer.toOctalString(mode));
            }
        }

        private final byte[] path;
        private Type type;
        private int permissions;
        private long flags;
        private long inode;
        private long links;
        private long uid;
        private long gid;
        private long size;
        private long modifiedSeconds;
        private int modifiedNanos;
        private long changedSeconds;
        private int changedNanos;
        private long deviceMajor;
        private long deviceMinor;
        private byte[] target = new byte[0];
        private SortedMap<String, byte[]> attributes;

        private @Nullable FileTree tree;

        // The directory that has it, open only during the visit, and its name there with a zero at the end.
        NativeFd directory;
        byte[] cName;

        private Entry(byte[] path) {
            this.path = path;
        }

        /** Path below the root, with a leading slash; empty for the root itself. Not a copy. */
        public byte[] path() {
            return path;
        }

        public Type type() {
            return type;
        }

        /** Permission bits with set-id and sticky bits, 0 to 07777. */
        public int permissions() {
            return permissions;
        }

        /** The {@code STATX_ATTR_} bits that the file system reports. */
        long flags() {
            return flags;
        }

        public long inode() {
            return inode;
        }

        public long links() {
            return links;
        }

        public long uid() {
            return uid;
        }

        public long gid() {
            return gid;
        }

        /** Bytes of a regular file, else 0. */
        public long size() {
            return size;
        }

        /** Seconds since 1970 of the last change of content. */
        public long modifiedSeconds() {
            return modifiedSeconds;
        }

        public int modifiedNanos() {
            return modifiedNanos;
        }

        /** Seconds since 1970 of the last change of content or metadata, as the kernel's clock said; nobody can set it. */
        public long changedSeconds() {
            return changedSeconds;
        }

        public int changedNanos() {
            return changedNanos;
        }

        public long deviceMajor() {
            return deviceMajor;
        }

        public long deviceMinor() {
            return deviceMinor;
        }

        /** Target of a symbolic link, else empty. Not a copy. */
        public byte[] target() {
            return target;
        }

        /** Extended attributes; each char of a name is one byte. */
        public SortedMap<String, byte[]> attributes() {
            return attributes;
        }

        /**
         * Digest of a regular file's content in hexadecimal. Up to {@link #PLAIN_DIGEST_LIMIT} bytes: its SHA-256. Longer: the SHA-256 of,
         * for each aligned block of 128 KiB that has a byte other than zero, its offset (8 bytes, big-endian) and its bytes; and at the end
         * the file's length (8 bytes, big-endian).
         */
        public String sha256() throws IOException {
            try (Content content = content()) {
                return content.sha256(atHand().digest);
            }
        }

        /** A regular file's content, opened now; unlike {@link #sha256} it can be read after this call, and by another thread. */
        public Content content() throws IOException {
            atHand();
            int flags = LibC.O_RDONLY | LibC.O_NOFOLLOW | LibC.O_CLOEXEC;
            try {
                return new Content(new NativeFd(Calls.openat(directory.number(), cName, flags, 0)), path, size);
            } catch (LastErrorException e) {
                throw IoErrors.asIoException(printable(path), e);
            }
        }

        private FileTree atHand() {
            FileTree open = tree;
            if (open == null || type != Type.FILE) {
                throw new IllegalStateException("no content at hand");
            }
            return open;
        }
    }
}
