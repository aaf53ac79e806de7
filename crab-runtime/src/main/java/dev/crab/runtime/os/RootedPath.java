package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.NativeLong;
import java.io.IOException;
import java.nio.file.Path;

/** Paths inside a root that a hostile program writes: resolved by {@code openat2} so that no link leads out of it. */
public final class RootedPath {
    private static final int OPEN_HOW_SIZE = 24;

    private RootedPath() {}

    /** Opens a directory of the host's own as a root ({@code O_PATH}); {@code /proc/PID/root} is followed. */
    public static NativeFd openRoot(Path directory) throws IOException {
        try {
            return new NativeFd(LibC.C.open(directory.toString(), LibC.O_PATH | LibC.O_DIRECTORY | LibC.O_CLOEXEC, 0));
        } catch (LastErrorException e) {
            throw Errno.of("open " + directory, e);
        }
    }

    /**
     * Opens ({@code O_PATH}) what lies at the path beneath the root, following neither symbolic nor magic links; {@code ..} stops at the
     * root. Layout of {@code struct open_how}: openat2(2).
     */
    public static NativeFd open(NativeFd root, String path) throws IOException {
        return open(root, path, LibC.RESOLVE_NO_SYMLINKS);
    }

    /** As {@link #open}, but symbolic links are followed as if the root were {@code /}. */
    public static NativeFd openFollowing(NativeFd root, String path) throws IOException {
        return open(root, path, 0);
    }

    private static NativeFd open(NativeFd root, String path, int resolve) throws IOException {
        try (Memory how = new Memory(OPEN_HOW_SIZE)) {
            how.setLong(0, LibC.O_PATH | LibC.O_CLOEXEC);
            how.setLong(8, 0);
            how.setLong(16, LibC.RESOLVE_IN_ROOT | LibC.RESOLVE_NO_MAGICLINKS | resolve);
            return new NativeFd(LibC.C
                    .syscall(new NativeLong(LibC.SYS_OPENAT2), root.number(), path, how, new NativeLong(OPEN_HOW_SIZE))
                    .intValue());
        } catch (LastErrorException e) {
            throw Errno.of("openat2 " + path, e);
        }
    }
}
