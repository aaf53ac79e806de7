package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A directory tree that something hostile may be changing: metadata in bulk, without ever following a symbolic link or leaving the tree.
 *
 * <p>Paths are relative to the root, begin with a slash ("/" is the root), and hold the name's bytes as Latin-1, so that every name
 * survives the way through a Java string; {@link #display} turns them into text. Not thread-safe.
 *
 * <p>Longer than most classes here because the layouts of what the kernel returns stand beside the calls that ask for it.
 */
public final class RootedTree implements AutoCloseable {
    /** Bits of {@link Node#mode}: the type. */
    public static final int TYPE_MASK = 0170000;

    public static final int REGULAR = 0100000;
    public static final int DIRECTORY = 0040000;
    public static final int SYMLINK = 0120000;
    public static final int CHARACTER_DEVICE = 0020000;

    /** Bytes of paths that are held in memory: many files at the end of a long path are too many. */
    public static final long MAX_PATHS = 128L << 20;

    private static final int AT_SYMLINK_NOFOLLOW = 0x100;
    private static final int AT_EMPTY_PATH = 0x1000;
    private static final int STATX_BASIC_STATS = 0x7ff;
    private static final int O_NONBLOCK = 04000;
    private static final int ENTRIES = 1 << 16;
    private static final int MAX_ATTRIBUTES = 1 << 16;
    private static final int MAX_LINK = 1 << 13;
    private static final int ENOENT = 2;
    private static final int ENOTDIR = 20;
    private static final int ENAMETOOLONG = 36;
    private static final int ELOOP = 40;
    private static final int ENODATA = 61;

    /**
     * What statx tells of a file, without its times of access and birth.
     *
     * @param mode type and permissions
     * @param links hard links
     * @param device major << 32 | minor of a device node
     * @param size bytes
     * @param modified time of the last content change, ns since 1970
     * @param changed time of the last change of content or metadata, ns since 1970; set by the kernel alone
     * @param flags the attributes that the file system reports (immutable, append only, compressed, …)
     */
    public record Node(
            int mode,
            long inode,
            int links,
            int uid,
            int gid,
            long device,
            long size,
            long modified,
            long changed,
            long flags) {
        public int type() {
            return mode & TYPE_MASK;
        }
    }

    /** Direct mapping: these are called once per file. */
    private static final class Calls {
        static {
            Native.register(Calls.class, "c");
        }

        // Addresses as numbers: a Pointer object for each file would cost more than the call.
        static native int statx(int directory, long path, int flags, int mask, long result) throws LastErrorException;

        static native long getdents64(int fd, long buffer, long size) throws LastErrorException;

        static native NativeLong readlinkat(int fd, Pointer path, Pointer buffer, NativeLong size)
                throws LastErrorException;

        static native NativeLong listxattr(String path, Pointer list, NativeLong size) throws LastErrorException;

        static native NativeLong getxattr(String path, Pointer name, Pointer value, NativeLong size)
                throws LastErrorException;
    }

    private final NativeFd root;
    private final Memory result = new Memory(256);
    private final Memory entries = new Memory(ENTRIES);
    private final Memory empty = new Memory(1);
    private final OpenBeneath beneath = new OpenBeneath();
    private final ByteBuffer resultBytes = bytes(result);
    private final ByteBuffer entryBytes = bytes(entries);

    /** Bytes of the paths that the scan has found. */
    private long listed;

    private RootedTree(NativeFd root) {
        this.root = root;
        empty.setByte(0, (byte) 0);
    }

    /** Opens the tree below a directory. */
    public static RootedTree open(Path directory) {
        try {
            return new RootedTree(new NativeFd(
                    LibC.C.open(directory.toString(), LibC.O_RDONLY | LibC.O_DIRECTORY | LibC.O_CLOEXEC, 0)));
        } catch (LastErrorException e) {
            throw failed("directory " + directory + " cannot be opened", e);
        }
    }

    /**
     * Every file below the root, the root itself left out. What vanishes while it is read is left out too.
     *
     * @param limit most files to list
     * @return null if there are more, or their paths take more than {@link #MAX_PATHS}
     */
    public @Nullable Map<String, Node> scan(int limit) {
        Map<String, Node> nodes = new HashMap<>();
        return scan("/", nodes, limit) ? nodes : null;
    }

    /**
     * Adds every file below a directory, the directory itself left out. What vanishes while it is read is left out too.
     *
     * @param limit most files that there may be in the map
     * @return false if there are more, or the paths added take more than {@link #MAX_PATHS}
     */
    public boolean scan(String from, Map<String, Node> nodes, int limit) {
        Deque<String> directories = new ArrayDeque<>();
        directories.add(from);
        listed = 0;
        while (!directories.isEmpty()) {
            String directory = directories.removeLast();
            try (NativeFd fd = open(directory, LibC.O_RDONLY | LibC.O_DIRECTORY)) {
                if (fd != null && !list(fd.number(), directory, nodes, directories, limit)) {
                    return false;
                }
            }
        }
        return true;
    }

    /**
     * The names in a directory and the inodes that they lead to. Much cheaper than their metadata.
     *
     * @param limit so many are read at most
     * @return null if the path leads to no directory
     */
    public @Nullable Map<String, Long> names(String directory, int limit) {
        try (NativeFd fd = open(directory, LibC.O_RDONLY | LibC.O_DIRECTORY)) {
            if (fd == null) {
                return null;
            }
            Map<String, Long> names = new HashMap<>();
            entries(fd.number(), directory, (name, at) -> {
                names.put(name, entryBytes.getLong(at));
                return names.size() < limit;
            });
            return names;
        }
    }

    /** One file, or null if the path leads to none without a symbolic link on its way. */
    public @Nullable Node stat(String path) {
        try (NativeFd fd = open(path, LibC.O_PATH)) {
            return fd == null ? null : stat(fd.number(), Pointer.nativeValue(empty), AT_EMPTY_PATH);
        }
    }

    /**
     * A digest of a file's extended attributes, names and values; the empty string if it has none or is gone.
     *
     * @param counted which names to include
     */
    public String attributes(String path, Predicate<String> counted) {
        try (NativeFd fd = open(path, LibC.O_PATH)) {
            if (fd == null) {
                return "";
            }
            String self = "/proc/self/fd/" + fd.number();
            try (Memory list = new Memory(MAX_ATTRIBUTES)) {
                int length = Calls.listxattr(self, list, new NativeLong(MAX_ATTRIBUTES))
                        .intValue();
                return length == 0 ? "" : digest(self, list, length, counted);
            } catch (LastErrorException e) {
                return "unreadable, errno " + e.getErrorCode();
            }
        }
    }

    /** The target of a symbolic link, or null if the path is none. */
    public @Nullable String link(String path) {
        try (NativeFd fd = open(path, LibC.O_PATH)) {
            if (fd == null) {
                return null;
            }
            long length = Calls.readlinkat(fd.number(), empty, entries, new NativeLong(ENTRIES))
                    .longValue();
            return new String(entries.getByteArray(0, (int) length), StandardCharsets.ISO_8859_1);
        } catch (LastErrorException e) {
            return null;
        }
    }

    /**
     * Where a symbolic link of the host points to, byte for byte as Latin-1, or null if it is gone; made for the links of /proc.
     *
     * @throws IOException if the kernel does not tell it, as of a link of /proc to a path longer than a page
     */
    public static @Nullable String readLink(String hostPath) throws IOException {
        try (Memory path = new Memory(hostPath.length() + 1L);
                Memory target = new Memory(MAX_LINK)) {
            path.setString(0, hostPath, "ISO-8859-1");
            long length = Calls.readlinkat(LibC.AT_FDCWD, path, target, new NativeLong(MAX_LINK))
                    .longValue();
            return new String(target.getByteArray(0, (int) length), StandardCharsets.ISO_8859_1);
        } catch (LastErrorException e) {
            if (e.getErrorCode() == ENAMETOOLONG) {
                throw Errno.of("readlink " + hostPath, e);
            }
            return null;
        }
    }

    /** Whether the regular file of that path has the same bytes in both trees; false if it is missing in one. */
    public boolean sameContent(String path, RootedTree other) {
        try (NativeFd mine = open(path, LibC.O_RDONLY | O_NONBLOCK);
                NativeFd theirs = other.open(path, LibC.O_RDONLY | O_NONBLOCK)) {
            return mine != null && theirs != null && Files.mismatch(mine.path(), theirs.path()) < 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** A digest of a regular file's content; empty if it is gone or cannot be read. */
    public String digest(String path) {
        try (NativeFd file = open(path, LibC.O_RDONLY | O_NONBLOCK)) {
            if (file == null) {
                return "";
            }
            MessageDigest digest = sha256();
            digest.update(Files.readAllBytes(file.path()));
            return HexFormat.of().formatHex(digest.digest());
        } catch (IOException e) {
            return "";
        }
    }

    /** A path as text; bytes that are no UTF-8 show as replacement characters. */
    public static String display(String path) {
        return new String(path.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        root.close();
    }

    private @Nullable NativeFd open(String path, int flags) {
        try {
            return beneath.open(root, path, flags);
        } catch (LastErrorException e) {
            if (e.getErrorCode() == ENOENT || e.getErrorCode() == ENOTDIR || e.getErrorCode() == ELOOP) {
                return null;
            }
            throw failed("file " + display(path) + " cannot be opened", e);
        }
    }

    private boolean list(int fd, String directory, Map<String, Node> nodes, Deque<String> directories, int limit) {
        String prefix = directory.equals("/") ? directory : directory + "/";
        return entries(fd, directory, (name, at) -> {
            Node node = stat(fd, Pointer.nativeValue(entries) + at + 19, AT_SYMLINK_NOFOLLOW);
            if (node == null) {
                return true;
            }
            String path = prefix + name;
            listed += path.length();
            if (nodes.size() >= limit || listed > MAX_PATHS) {
                return false;
            }
            nodes.put(path, node);
            if (node.type() == DIRECTORY) {
                directories.add(path);
            }
            return true;
        });
    }

    private interface EntryVisitor {
        /** Returns whether to go on; {@code at} is where the entry lies in the buffer. */
        boolean visit(String name, int at);
    }

    /** Reads one directory (struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name); returns whether all entries were visited. */
    private boolean entries(int fd, String directory, EntryVisitor visitor) {
        while (true) {
            int length;
            try {
                length = (int) Calls.getdents64(fd, Pointer.nativeValue(entries), ENTRIES);
            } catch (LastErrorException e) {
                if (e.getErrorCode() == ENOENT) {
                    return true; // removed while it was read
                }
                throw failed("directory " + display(directory) + " cannot be read", e);
            }
            if (length == 0) {
                return true;
            }
            for (int at = 0; at < length; at += entryBytes.getShort(at + 16) & 0xffff) {
                String name = name(at + 19);
                if (!name.equals(".") && !name.equals("..") && !visitor.visit(name, at)) {
                    return false;
                }
            }
        }
    }

    /** struct statx, linux/stat.h. */
    private @Nullable Node stat(int directory, long name, int flags) {
        try {
            Calls.statx(directory, name, flags, STATX_BASIC_STATS, Pointer.nativeValue(result));
        } catch (LastErrorException e) {
            if (e.getErrorCode() == ENOENT) {
                return null;
            }
            throw failed("a file cannot be examined", e);
        }
        ByteBuffer got = resultBytes;
        return new Node(
                got.getShort(28) & 0xffff,
                got.getLong(32),
                got.getInt(16),
                got.getInt(20),
                got.getInt(24),
                (long) got.getInt(128) << 32 | got.getInt(132),
                got.getLong(40),
                got.getLong(112) * 1_000_000_000L + got.getInt(120),
                got.getLong(96) * 1_000_000_000L + got.getInt(104),
                got.getLong(8));
    }

    private String name(int at) {
        int end = at;
        while (entryBytes.get(end) != 0) {
            end++;
        }
        byte[] name = new byte[end - at];
        entryBytes.get(at, name);
        return new String(name, StandardCharsets.ISO_8859_1);
    }

    private static ByteBuffer bytes(Memory memory) {
        return memory.getByteBuffer(0, memory.size()).order(ByteOrder.nativeOrder());
    }

    private static String digest(String self, Memory list, int length, Predicate<String> counted) {
        TreeSet<String> names = new TreeSet<>();
        Map<String, Pointer> places = new HashMap<>();
        for (int at = 0; at < length; ) {
            String name = list.getString(at, "ISO-8859-1");
            if (counted.test(name)) {
                names.add(name);
                places.put(name, list.share(at));
            }
            at += name.length() + 1;
        }
        if (names.isEmpty()) {
            return "";
        }
        MessageDigest digest = sha256();
        try (Memory value = new Memory(MAX_ATTRIBUTES)) {
            for (String name : names) {
                digest.update((name + "\0").getBytes(StandardCharsets.ISO_8859_1));
                try {
                    Pointer place = places.get(name);
                    int size = place == null
                            ? 0
                            : Calls.getxattr(self, place, value, new NativeLong(MAX_ATTRIBUTES))
                                    .intValue();
                    digest.update((size + "\0").getBytes(StandardCharsets.ISO_8859_1));
                    digest.update(value.getByteArray(0, size));
                } catch (LastErrorException e) {
                    if (e.getErrorCode() != ENODATA) {
                        digest.update(("errno " + e.getErrorCode()).getBytes(StandardCharsets.ISO_8859_1));
                    }
                }
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static CrabException failed(String what, LastErrorException e) {
        return CrabException.io(what, new IOException(e.getMessage(), e));
    }
}
