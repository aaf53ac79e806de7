package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A directory in which something is made that nobody may see half made: it is locked by whoever works in it, and renamed to its final
 * name in one step. The lock ends with its owner however that dies, so that what is not locked is waste.
 */
public final class DraftDirectory implements AutoCloseable {
    private static final byte[] SELF = TreeCalls.cString(".");

    private final Path path;
    private final NativeFd fd;
    private boolean published;

    private DraftDirectory(Path path, NativeFd fd) {
        this.path = path;
        this.fd = fd;
    }

    /** Makes the directory, or takes over what a killed process left and empties it. Waits while another one works in it. */
    public static DraftDirectory begin(Path path) throws IOException {
        byte[] name = TreeCopy.cPath(path);
        while (true) {
            try {
                TreeCalls.mkdirat(LibC.AT_FDCWD, name, 0700);
            } catch (LastErrorException e) {
                if (e.getErrorCode() != TreeCalls.EEXIST) {
                    throw IoErrors.asIoException(path.toString(), e);
                }
            }
            DraftDirectory draft = lock(path, 0);
            if (draft != null) {
                try {
                    draft.empty();
                    return draft;
                } catch (IOException e) {
                    draft.fd.close();
                    throw e;
                }
            }
        }
    }

    /** Removes the directory if nobody works in it. */
    public static void sweep(Path path) throws IOException {
        DraftDirectory draft = lock(path, TreeCalls.LOCK_NB);
        if (draft != null) {
            draft.close();
        }
    }

    /** The locked directory; null if it is gone, or somebody has it and is not to be waited for. */
    private static @Nullable DraftDirectory lock(Path path, int how) throws IOException {
        NativeFd fd = null;
        boolean mine = false;
        try (Memory stat = new Memory(256)) {
            fd = TreeCalls.openDirectory(LibC.AT_FDCWD, TreeCopy.cPath(path));
            TreeCalls.flock(fd.number(), TreeCalls.LOCK_EX | how);
            // Whoever had it may have renamed or removed it while this thread waited.
            mine = TreeCalls.inode(fd.number(), SELF, stat)
                    == TreeCalls.inode(LibC.AT_FDCWD, TreeCopy.cPath(path), stat);
            return mine ? new DraftDirectory(path, fd) : null;
        } catch (LastErrorException e) {
            if (e.getErrorCode() == LibC.ENOENT
                    || e.getErrorCode() == LibC.EINTR
                    || e.getErrorCode() == TreeCalls.EWOULDBLOCK) {
                return null;
            }
            throw IoErrors.asIoException(path.toString(), e);
        } finally {
            if (fd != null && !mine) {
                fd.close();
            }
        }
    }

    /** Where it is until {@link #publish}. */
    public Path path() {
        return path;
    }

    /**
     * Gives it its final name, on the same file system.
     *
     * @throws java.nio.file.FileAlreadyExistsException if there is something of that name
     */
    public void publish(Path target) throws IOException {
        try {
            TreeCalls.renameat2(
                    LibC.AT_FDCWD,
                    TreeCopy.cPath(path),
                    LibC.AT_FDCWD,
                    TreeCopy.cPath(target),
                    TreeCalls.RENAME_NOREPLACE);
            published = true;
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(target.toString(), e);
        }
    }

    /** Takes something into it, to be removed with it; false if there is nothing of that name. */
    public boolean take(Path victim) throws IOException {
        try {
            TreeCalls.renameat2(LibC.AT_FDCWD, TreeCopy.cPath(victim), fd.number(), TreeCalls.cString("taken"), 0);
            return true;
        } catch (LastErrorException e) {
            if (e.getErrorCode() == LibC.ENOENT) {
                return false;
            }
            throw IoErrors.asIoException(victim.toString(), e);
        }
    }

    private void empty() throws IOException {
        try (Memory buffer = new Memory(1 << 16)) {
            for (byte[] name : TreeCalls.names(fd, buffer)) {
                TreeRemoval.remove(path, new String(name, StandardCharsets.ISO_8859_1));
            }
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(path.toString(), e);
        }
    }

    /** Removes it, if it was not published, and gives up the lock. */
    @Override
    public void close() throws IOException {
        try (fd) {
            if (!published) {
                empty();
                TreeCalls.unlinkat(LibC.AT_FDCWD, TreeCopy.cPath(path), TreeCalls.AT_REMOVEDIR);
            }
        } catch (LastErrorException e) {
            throw IoErrors.asIoException(path.toString(), e);
        }
    }
}
