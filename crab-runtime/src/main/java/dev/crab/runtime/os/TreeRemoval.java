package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Removes directory trees that hold anything: however deep (the number of directories open at once is bounded), whatever their names,
 * with files that are immutable or append only, and without following a link. Removing what is not there does nothing.
 */
public final class TreeRemoval {
    /** Below this, a directory is first moved up. */
    private static final int DEPTH = 64;

    private static final String MOVED = ".deep-";

    private final NativeFd parent;
    private final Memory buffer = new Memory(1 << 16);
    private int moved;

    private TreeRemoval(NativeFd parent) {
        this.parent = parent;
    }

    /**
     * Removes {@code parent/name} with everything in it. The parent holds directories {@code .deep-N} meanwhile; those that a killed
     * removal left go with the next one.
     *
     * @param parent a directory in which nobody else writes or removes trees meanwhile
     */
    public static void remove(Path parent, String name) throws IOException {
        byte[] cName = TreeCalls.cString(name);
        try (NativeFd fd = TreeCalls.openDirectory(LibC.AT_FDCWD, TreeCopy.cPath(parent))) {
            TreeRemoval removal = new TreeRemoval(fd);
            try (removal.buffer) {
                removal.remove(fd, cName, 0);
                removal.removeMoved();
            }
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(parent.resolve(name).toString(), e);
        }
    }

    private void removeMoved() {
        boolean found;
        do {
            found = false;
            for (byte[] name : TreeCalls.names(parent, buffer)) {
                if (new String(name, StandardCharsets.ISO_8859_1).startsWith(MOVED)) {
                    found = true;
                    remove(parent, Arrays.copyOf(name, name.length + 1), 0);
                }
            }
        } while (found);
    }

    private void remove(NativeFd directory, byte[] name, int depth) {
        try {
            TreeCalls.unlinkat(directory.number(), name, 0);
            return;
        } catch (LastErrorException e) {
            switch (e.getErrorCode()) {
                case LibC.ENOENT -> {
                    return;
                }
                case TreeCalls.EISDIR -> {}
                case TreeCalls.EPERM -> {
                    // Either may be meant: the directory or the file in it.
                    if (loosen(directory, name)) {
                        TreeCalls.unlinkat(directory.number(), name, 0);
                        return;
                    }
                }
                default -> throw e;
            }
        }
        try (NativeFd inside = TreeCalls.openDirectory(directory.number(), name)) {
            if (depth >= DEPTH) {
                loosen(directory);
                loosen(inside);
                moveUp(directory, name);
                return;
            }
            for (byte[] child : TreeCalls.names(inside, buffer)) {
                remove(inside, Arrays.copyOf(child, child.length + 1), depth + 1);
            }
            loosen(inside);
        }
        TreeCalls.unlinkat(directory.number(), name, TreeCalls.AT_REMOVEDIR);
    }

    private void moveUp(NativeFd directory, byte[] name) {
        while (true) {
            byte[] free = TreeCalls.cString(MOVED + moved++);
            try {
                TreeCalls.renameat2(directory.number(), name, parent.number(), free, TreeCalls.RENAME_NOREPLACE);
                return;
            } catch (LastErrorException e) {
                // A removal that was killed left that name.
                if (e.getErrorCode() != TreeCalls.EEXIST) {
                    throw e;
                }
            }
        }
    }

    /** Clears the flags that forbid a removal, of the directory and the file; false if what has that name is a directory. */
    private static boolean loosen(NativeFd directory, byte[] name) {
        loosen(directory);
        int flags = LibC.O_RDONLY | LibC.O_NOFOLLOW | TreeCalls.O_NONBLOCK | LibC.O_CLOEXEC;
        try (Memory stat = new Memory(256)) {
            TreeCalls.fstatat(directory.number(), name, stat, TreeCalls.AT_SYMLINK_NOFOLLOW);
            // struct stat of x86-64: st_mode at 24
            int type = stat.getInt(24) & RootedTree.TYPE_MASK;
            if (type == RootedTree.REGULAR) {
                try (NativeFd file = new NativeFd(TreeCalls.openat(directory.number(), name, flags, 0))) {
                    loosen(file);
                }
            }
            return type != RootedTree.DIRECTORY;
        }
    }

    private static void loosen(NativeFd fd) {
        try {
            TreeCalls.changeFlags(fd.number(), 0, TreeCalls.FS_IMMUTABLE | TreeCalls.FS_APPEND);
        } catch (LastErrorException e) {
            // A file system without such flags has nothing that they could forbid.
            if (e.getErrorCode() != TreeCalls.ENOTTY && e.getErrorCode() != IoErrors.ENOTSUP) {
                throw e;
            }
        }
    }
}
