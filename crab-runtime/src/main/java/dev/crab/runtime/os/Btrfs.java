package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The btrfs operations that exist only as ioctls. Layouts and numbers: {@code linux/btrfs.h} ({@code btrfs_ioctl_vol_args} and
 * {@code btrfs_ioctl_vol_args_v2}, both 4096 bytes; {@code btrfs_ioctl_fs_info_args}, {@code btrfs_ioctl_get_subvol_info_args},
 * {@code btrfs_ioctl_search_args_v2}) and {@code linux/btrfs_tree.h}.
 */
public final class Btrfs {
    /** Inode number of a subvolume's own directory; those of its files are larger. */
    public static final long FIRST_INODE = 256;

    private static final long SYNC = 0x94 << 8 | 8;
    private static final long SUBVOL_CREATE = iow(14, 4096);
    private static final long TREE_SEARCH_V2 = ior(17, 112) | iow(17, 112);
    private static final long WAIT_SYNC = iow(22, 8);
    private static final long SNAP_CREATE_V2 = iow(23, 4096);
    private static final long START_SYNC = ior(24, 8);
    private static final long SUBVOL_GETFLAGS = ior(25, 8);
    private static final long FS_INFO = ior(31, 1024);
    private static final long GET_SUBVOL_INFO = ior(60, 504);
    private static final long SNAP_DESTROY_V2 = iow(63, 4096);

    private static final long SUBVOL_RDONLY = 2;
    private static final int ARGS_NAME = 8;
    private static final int ARGS_NAME_MAX = 4087;
    private static final int ARGS_V2_FLAGS = 16;
    private static final int ARGS_V2_NAME = 56;
    private static final int ARGS_V2_NAME_MAX = 4039;

    private static final int INFO_FLAGS = 48;
    private static final int INFO_GENERATION = 56;
    private static final long INFO_HAS_GENERATION = 2;
    private static final int SUBVOL_OTRANSID = 352;

    private static final int SEARCH_ARGS = 112;
    private static final int SEARCH_BUFFER = 1 << 18;
    private static final int SEARCH_HEADER = 32;
    private static final long LAST_INODE = -256;
    private static final int INODE_ITEM = 1;
    private static final int INODE_TRANSID = 8;

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

    /**
     * As {@link #sync}, and makes the kernel go on giving back what deleted subvolumes held, for which it would else take its time. Does not
     * wait for that.
     */
    public static void syncAndClean(Path anywhere) throws IOException {
        call(anywhere, anywhere, SYNC, Pointer.NULL);
    }

    /**
     * The number of the transaction that is open in the file system. Whatever is changed after the call has this number or a later one.
     *
     * @throws IOException also where the kernel does not tell it (before Linux 5.10)
     */
    public static long transaction(Path anywhere) throws IOException {
        try (Memory info = new Memory(1024)) {
            info.clear();
            info.setLong(INFO_FLAGS, INFO_HAS_GENERATION);
            call(anywhere, anywhere, FS_INFO, info);
            if ((info.getLong(INFO_FLAGS) & INFO_HAS_GENERATION) == 0) {
                throw new IOException("the kernel does not tell the generation of " + anywhere);
            }
            return info.getLong(INFO_GENERATION);
        }
    }

    /** The number of the transaction that made the snapshot. Whatever is changed in its source later has a larger one. */
    public static long transactionOfSnapshot(Path snapshot) throws IOException {
        try (Memory info = new Memory(504)) {
            info.clear();
            call(snapshot, snapshot, GET_SUBVOL_INFO, info);
            return info.getLong(SUBVOL_OTRANSID);
        }
    }

    /**
     * The inodes of a subvolume that were changed in a transaction of that number or later, whatever was changed of them; those of files
     * that are gone are not among them. The tree is searched as it stands: what the kernel has not yet entered into it is not seen, and in
     * a snapshot nothing of the kind exists.
     *
     * @param most more than this are not read
     * @return inode numbers, or null if there are more
     * @throws IOException also if the kernel's answer is not what it should be
     */
    public static @Nullable Set<Long> changedInodes(Path subvolume, long transaction, int most) throws IOException {
        Set<Long> changed = new HashSet<>();
        try (NativeFd fd = open(subvolume);
                Memory args = new Memory(SEARCH_ARGS + SEARCH_BUFFER)) {
            long inode = FIRST_INODE;
            int type = 0;
            long offset = 0;
            // Every item changes its leaf, and a leaf that is older than the transaction is passed over.
            long items = 0;
            while (items <= 64L * most + 10_000) {
                searchKey(args, inode, type, offset, transaction);
                ioctl(fd, subvolume, TREE_SEARCH_V2, args);
                int found = args.getInt(64);
                if (found == 0) {
                    return changed;
                }
                items += found;
                long at = SEARCH_ARGS;
                for (int i = 0; i < found; i++) {
                    if (at + SEARCH_HEADER > args.size()) {
                        throw new IOException("a search of " + subvolume + " found more than it could return");
                    }
                    long item = args.getLong(at + 8);
                    long itemOffset = args.getLong(at + 16);
                    int itemType = args.getInt(at + 24);
                    int length = args.getInt(at + 28);
                    at += SEARCH_HEADER;
                    if (!inOrder(inode, type, offset, item, itemType, itemOffset)
                            || length < 0
                            || at + length > args.size()
                            || (itemType == INODE_ITEM && length < INODE_TRANSID + 8)) {
                        throw new IOException("a search of " + subvolume + " returned items that cannot be understood");
                    }
                    if (itemType == INODE_ITEM
                            && Long.compareUnsigned(args.getLong(at + INODE_TRANSID), transaction) >= 0) {
                        changed.add(item);
                    }
                    at += length;
                    inode = item;
                    type = itemType;
                    offset = itemOffset;
                }
                if (changed.size() > most) {
                    return null;
                }
                if (++offset == 0 && ++type > 255) {
                    type = 0;
                    inode++;
                }
            }
            return null;
        }
    }

    /** struct btrfs_ioctl_search_key, of the tree that the descriptor is in. */
    private static void searchKey(Memory args, long inode, int type, long offset, long transaction) {
        args.clear(SEARCH_ARGS);
        args.setLong(8, inode);
        args.setLong(16, LAST_INODE);
        args.setLong(24, offset);
        args.setLong(32, -1);
        args.setLong(40, transaction);
        args.setLong(48, -1);
        args.setInt(56, type);
        args.setInt(60, 255);
        args.setInt(64, -1);
        args.setLong(104, SEARCH_BUFFER);
    }

    /** Whether the second key is not before the first: else the search would have no end. */
    private static boolean inOrder(long inode, int type, long offset, long nextInode, int nextType, long nextOffset) {
        int byInode = Long.compareUnsigned(inode, nextInode);
        return byInode < 0
                || (byInode == 0
                        && (type < nextType || (type == nextType && Long.compareUnsigned(offset, nextOffset) <= 0)));
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
