package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;

/**
 * Opens what lies at a path beneath a directory that something hostile may be changing, without following any link or leaving the directory.
 * Paths may be of any length: the kernel takes 4096 bytes at once, so that a longer one is opened piece by piece, each beneath the directory
 * that the piece before led to and by the same rules. Not thread-safe.
 */
final class OpenBeneath {
    /** PATH_MAX of linux/limits.h without the zero at the end. */
    static final int AT_ONCE = 4095;

    private static final int ENAMETOOLONG = 36;
    private static final int RESOLVE_BENEATH = 0x08;

    /** Direct mapping: called once per file. */
    private static final class Calls {
        static {
            Native.register(Calls.class, "c");
        }

        // Addresses as numbers: a Pointer object for each file would cost more than the call.
        static native long syscall(long number, int directory, long path, long how, long size)
                throws LastErrorException;
    }

    private final Memory name = new Memory(AT_ONCE + 1);

    /** struct open_how: openat2(2). */
    private final Memory how = new Memory(24);

    /**
     * Opens.
     *
     * @param path begins with a slash, which stands for the directory; each char is one byte
     * @param flags of open(2)
     */
    NativeFd open(NativeFd directory, String path, int flags) throws LastErrorException {
        byte[] bytes = ("." + path).getBytes(StandardCharsets.ISO_8859_1);
        NativeFd at = directory;
        int from = 0;
        try {
            while (bytes.length - from > AT_ONCE) {
                int end = from + AT_ONCE;
                while (end > from && bytes[end] != '/') {
                    end--;
                }
                if (end == from) {
                    throw new LastErrorException(ENAMETOOLONG);
                }
                NativeFd next = piece(at, bytes, from, end, LibC.O_PATH | LibC.O_DIRECTORY);
                closeUnless(directory, at);
                at = next;
                from = end + 1;
            }
            return piece(at, bytes, from, bytes.length, flags);
        } finally {
            closeUnless(directory, at);
        }
    }

    private NativeFd piece(NativeFd directory, byte[] path, int from, int end, int flags) {
        name.write(0, path, from, end - from);
        name.setByte(end - from, (byte) 0);
        how.setLong(0, flags | (long) LibC.O_NOFOLLOW | LibC.O_CLOEXEC);
        how.setLong(8, 0);
        how.setLong(16, RESOLVE_BENEATH | LibC.RESOLVE_NO_SYMLINKS | LibC.RESOLVE_NO_MAGICLINKS);
        return new NativeFd((int) Calls.syscall(
                LibC.SYS_OPENAT2, directory.number(), Pointer.nativeValue(name), Pointer.nativeValue(how), how.size()));
    }

    private static void closeUnless(NativeFd directory, NativeFd fd) {
        if (fd != directory) {
            fd.close();
        }
    }
}
