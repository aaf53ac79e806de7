package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Copies a directory tree exactly: names, types, modes, owners, extended attributes, times of modification to the nanosecond, which
 * names share an inode, holes, and the flags "immutable" and "append only". New are inode numbers and the times of access, change and
 * birth; other inode flags are not copied.
 *
 * <p>Source and copy lie on one file system. The source must not change meanwhile; whatever it holds, no link is followed and nothing
 * but regular files and directories is opened. Names that lie outside the source tree do not count as names of an inode.
 */
public final class TreeCopy {
    /** How the content of files gets into the copy. */
    public enum Content {
        /** The copy shares the blocks until either side is written (FICLONE). */
        CLONE,
        /** The bytes are copied. */
        COPY
    }

    private static final long STATX_IMMUTABLE = 0x10;
    private static final long STATX_APPEND = 0x20;
    private static final byte[] LINKS = TreeCalls.cString(".links");
    private static final int TYPE_CHARACTER = 0020000;
    private static final int TYPE_BLOCK = 0060000;
    private static final int TYPE_FIFO = 0010000;
    private static final int TYPE_SOCKET = 0140000;

    /** A directory of the copy that is still being filled. */
    private record Open(FileTree.Entry entry, NativeFd fd) {}

    /** Flags that would stand in the way of the names still to be made. */
    private record Later(NativeFd fd, int flags) {}

    private final Content content;
    private final NativeFd links;
    private final Set<Long> linked = new HashSet<>();
    private final Deque<Open> open = new ArrayDeque<>();
    private final List<Later> later = new ArrayList<>();
    private final Memory times = new Memory(32);
    private final Memory offsets = new Memory(16);
    private long entries;

    private TreeCopy(Content content, NativeFd links) {
        this.content = content;
        this.links = links;
    }

    /**
     * Copies what {@code from} is to {@code parent/name}, which must not exist. On failure, what was made stays for {@link TreeRemoval}.
     *
     * @param parent a directory that nobody else writes; it holds {@code .links} meanwhile
     * @return number of entries, the top included
     * @throws java.nio.file.FileAlreadyExistsException if there is something of that name
     */
    public static long copy(Path from, Path parent, String name, Content content) throws IOException {
        byte[] top = TreeCalls.cString(name);
        try (NativeFd place = TreeCalls.openDirectory(LibC.AT_FDCWD, cPath(parent))) {
            TreeCalls.mkdirat(place.number(), top, 0700);
            TreeCalls.mkdirat(place.number(), LINKS, 0700);
            try (NativeFd links = TreeCalls.openDirectory(place.number(), LINKS)) {
                TreeCopy copy = new TreeCopy(content, links);
                try (copy.times;
                        copy.offsets) {
                    copy.run(from, TreeCalls.openDirectory(place.number(), top));
                }
                TreeCalls.unlinkat(place.number(), LINKS, TreeCalls.AT_REMOVEDIR);
                return copy.entries;
            }
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(parent.resolve(name).toString(), e);
        }
    }

    /** Whether files in that directory can share blocks. Leaves nothing behind. */
    public static boolean canClone(Path directory) throws IOException {
        byte[] path = cPath(directory);
        int flags = TreeCalls.O_TMPFILE | LibC.O_RDWR | LibC.O_CLOEXEC;
        try (NativeFd one = new NativeFd(TreeCalls.openat(LibC.AT_FDCWD, path, flags, 0600));
                NativeFd two = new NativeFd(TreeCalls.openat(LibC.AT_FDCWD, path, flags, 0600));
                Memory block = new Memory(4096)) {
            block.clear();
            LibC.C.write(one.number(), block, new NativeLong(4096));
            TreeCalls.ioctl(two.number(), TreeCalls.FICLONE, one.number());
            return true;
        } catch (LastErrorException e) {
            if (Set.of(IoErrors.ENOTSUP, TreeCalls.ENOTTY, LibC.EINVAL, TreeCalls.EXDEV, TreeCalls.EISDIR)
                    .contains(e.getErrorCode())) {
                return false;
            }
            throw IoErrors.asIoException(directory.toString(), e);
        }
    }

    private void run(Path from, NativeFd top) throws IOException {
        try {
            FileTree.walk(from, entry -> {
                entries++;
                if (entry.path().length == 0) {
                    open.push(new Open(entry, top));
                } else {
                    leave(depth(entry.path()));
                    make(entry, open.element().fd().number());
                }
            });
            leave(0);
            for (byte[] name : TreeCalls.names(links, new Memory(1 << 16))) {
                TreeCalls.unlinkat(links.number(), Arrays.copyOf(name, name.length + 1), 0);
            }
            for (Later flags : later) {
                TreeCalls.changeFlags(flags.fd().number(), flags.flags(), 0);
            }
        } finally {
            open.forEach(directory -> directory.fd().close());
            later.forEach(flags -> flags.fd().close());
            top.close();
        }
    }

    /** How many directories are above that path. */
    private static int depth(byte[] path) {
        int depth = 0;
        for (byte b : path) {
            depth += b == '/' ? 1 : 0;
        }
        return depth;
    }

    /** Finishes the directories that the walk has left: until now each name made in them changed their times. */
    private void leave(int depth) {
        while (open.size() > depth) {
            try (NativeFd fd = open.element().fd()) {
                describe(fd, open.element().entry());
                flags(fd, open.element().entry());
            }
            open.remove();
        }
    }

    private void make(FileTree.Entry entry, int directory) throws IOException {
        boolean shared = entry.links() > 1 && entry.type() != FileTree.Entry.Type.DIRECTORY;
        byte[] key = shared ? TreeCalls.cString(Long.toString(entry.inode())) : new byte[0];
        try {
            if (shared && !linked.add(entry.inode())) {
                TreeCalls.linkat(links.number(), key, directory, entry.cName, 0);
                return;
            }
            switch (entry.type()) {
                case DIRECTORY -> {
                    TreeCalls.mkdirat(directory, entry.cName, 0700);
                    open.push(new Open(entry, TreeCalls.openDirectory(directory, entry.cName)));
                }
                case FILE -> file(entry, directory);
                case SYMLINK -> {
                    byte[] target = Arrays.copyOf(entry.target(), entry.target().length + 1);
                    TreeCalls.symlinkat(target, directory, entry.cName);
                    describe(directory, entry);
                }
                case CHARACTER -> node(entry, directory, TYPE_CHARACTER);
                case BLOCK -> node(entry, directory, TYPE_BLOCK);
                case FIFO -> node(entry, directory, TYPE_FIFO);
                case SOCKET -> node(entry, directory, TYPE_SOCKET);
            }
            if (shared) {
                TreeCalls.linkat(directory, entry.cName, links.number(), key, 0);
            }
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(new String(entry.path(), StandardCharsets.UTF_8), e);
        }
    }

    private void file(FileTree.Entry entry, int directory) throws IOException {
        int flags = LibC.O_NOFOLLOW | LibC.O_CLOEXEC;
        NativeFd to = new NativeFd(TreeCalls.openat(
                directory, entry.cName, flags | TreeCalls.O_WRONLY | TreeCalls.O_CREAT | TreeCalls.O_EXCL, 0600));
        try (to) {
            if (entry.size() > 0) {
                try (NativeFd from = new NativeFd(TreeCalls.openat(
                        entry.directory.number(), entry.cName, flags | LibC.O_RDONLY | TreeCalls.O_NONBLOCK, 0))) {
                    if (content == Content.CLONE) {
                        TreeCalls.ioctl(to.number(), TreeCalls.FICLONE, from.number());
                    } else {
                        copyData(from.number(), to.number(), entry.size());
                    }
                }
            }
            describe(to, entry);
            if (inodeFlags(entry) == 0) {
                return;
            }
            if (entry.links() > 1) {
                later.add(new Later(new NativeFd(to.release()), inodeFlags(entry)));
            } else {
                flags(to, entry);
            }
        }
    }

    private void copyData(int from, int to, long size) throws IOException {
        long data = 0;
        long hole = TreeCalls.lseek(from, 0, TreeCalls.SEEK_HOLE);
        if (hole < size || hole == 0) {
            hole = 0;
            data = nextData(from, 0, size);
        }
        while (data < size) {
            hole = hole > data ? hole : TreeCalls.lseek(from, data, TreeCalls.SEEK_HOLE);
            copyRange(from, to, data, Math.min(hole, size));
            data = nextData(from, hole, size);
        }
        if (hole < size) {
            TreeCalls.ftruncate(to, size);
        }
    }

    /** Where data begins at or behind the offset; the size if none does. */
    private static long nextData(int from, long offset, long size) {
        if (offset >= size) {
            return size;
        }
        try {
            return TreeCalls.lseek(from, offset, TreeCalls.SEEK_DATA);
        } catch (LastErrorException e) {
            if (e.getErrorCode() == TreeCalls.ENXIO) {
                return size;
            }
            throw e;
        }
    }

    private void copyRange(int from, int to, long begin, long end) throws IOException {
        offsets.setLong(0, begin);
        offsets.setLong(8, begin);
        Pointer target = offsets.share(8);
        while (offsets.getLong(0) < end) {
            long length = Math.min(1L << 30, end - offsets.getLong(0));
            try {
                if (TreeCalls.copy_file_range(from, offsets, to, target, length, 0) == 0) {
                    throw new IOException("a file became shorter while it was copied");
                }
            } catch (LastErrorException e) {
                if (e.getErrorCode() != LibC.EINTR) {
                    throw e;
                }
            }
        }
    }

    private void node(FileTree.Entry entry, int directory, int type) {
        // dev_t of glibc: the minor's low byte and upper bits around the major's twelve low ones.
        long major = entry.deviceMajor();
        long minor = entry.deviceMinor();
        long low = ((major & 0xfff) << 8) | (minor & 0xff);
        long device = low | ((minor & ~0xffL) << 12) | ((major & ~0xfffL) << 32);
        TreeCalls.mknodat(directory, entry.cName, type | 0600, device);
        TreeCalls.fchownat(directory, entry.cName, (int) entry.uid(), (int) entry.gid(), TreeCalls.AT_SYMLINK_NOFOLLOW);
        TreeCalls.fchmodat(directory, entry.cName, entry.permissions(), 0);
        attributesAndTimes(directory, entry);
    }

    /** A symbolic link's owner, attributes and times; it has no mode. */
    private void describe(int directory, FileTree.Entry entry) {
        TreeCalls.fchownat(directory, entry.cName, (int) entry.uid(), (int) entry.gid(), TreeCalls.AT_SYMLINK_NOFOLLOW);
        attributesAndTimes(directory, entry);
    }

    private void attributesAndTimes(int directory, FileTree.Entry entry) {
        if (!entry.attributes().isEmpty()) {
            byte[] prefix = ("/proc/self/fd/" + directory + "/").getBytes(StandardCharsets.US_ASCII);
            byte[] path = Arrays.copyOf(prefix, prefix.length + entry.cName.length);
            System.arraycopy(entry.cName, 0, path, prefix.length, entry.cName.length);
            for (Map.Entry<String, byte[]> attribute : entry.attributes().entrySet()) {
                byte[] value = attribute.getValue();
                TreeCalls.lsetxattr(path, TreeCalls.cString(attribute.getKey()), value, value.length, 0);
            }
        }
        setTimes(entry);
        TreeCalls.utimensat(directory, entry.cName, times, TreeCalls.AT_SYMLINK_NOFOLLOW);
    }

    /** Owner, mode, attributes, times, in this order: a change of owner clears set-id bits and capabilities. */
    private void describe(NativeFd fd, FileTree.Entry entry) {
        TreeCalls.fchown(fd.number(), (int) entry.uid(), (int) entry.gid());
        TreeCalls.fchmod(fd.number(), entry.permissions());
        for (Map.Entry<String, byte[]> attribute : entry.attributes().entrySet()) {
            byte[] value = attribute.getValue();
            TreeCalls.fsetxattr(fd.number(), TreeCalls.cString(attribute.getKey()), value, value.length, 0);
        }
        setTimes(entry);
        TreeCalls.futimens(fd.number(), times);
    }

    /** struct timespec of access and modification. */
    private void setTimes(FileTree.Entry entry) {
        times.setLong(0, 0);
        times.setLong(8, TreeCalls.UTIME_OMIT);
        times.setLong(16, entry.modifiedSeconds());
        times.setLong(24, entry.modifiedNanos());
    }

    private static int inodeFlags(FileTree.Entry entry) {
        return ((entry.flags() & STATX_IMMUTABLE) != 0 ? TreeCalls.FS_IMMUTABLE : 0)
                | ((entry.flags() & STATX_APPEND) != 0 ? TreeCalls.FS_APPEND : 0);
    }

    private static void flags(NativeFd fd, FileTree.Entry entry) {
        if (inodeFlags(entry) != 0) {
            TreeCalls.changeFlags(fd.number(), inodeFlags(entry), 0);
        }
    }

    static byte[] cPath(Path path) {
        byte[] bytes = path.toString().getBytes(StandardCharsets.UTF_8);
        return Arrays.copyOf(bytes, bytes.length + 1);
    }
}
