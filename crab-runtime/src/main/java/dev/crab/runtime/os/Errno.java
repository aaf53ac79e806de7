package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Native;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/**
 * A failed system call as an exception that Java code expects, with the number kept; and, where a file was named, as the exceptions that
 * Java's own file methods throw.
 */
public final class Errno extends IOException {
    private static final long serialVersionUID = 1L;

    public static final int ENOENT = LibC.ENOENT;
    public static final int ESRCH = LibC.ESRCH;
    public static final int EBUSY = LibC.EBUSY;
    public static final int EINVAL = LibC.EINVAL;
    static final int EEXIST = 17;
    static final int ENODATA = 61;
    static final int ENOTSUP = 95;
    static final int ERANGE = 34;

    private final int number;

    private interface Text extends com.sun.jna.Library {
        Text C = Native.load("c", Text.class);

        String strerror(int errno);
    }

    private Errno(String call, LastErrorException cause) {
        super(call + ": " + cause.getMessage(), cause);
        this.number = cause.getErrorCode();
    }

    static Errno of(String call, LastErrorException cause) {
        return new Errno(call, cause);
    }

    /** The errno. */
    public int number() {
        return number;
    }

    static IOException asIoException(String file, LastErrorException e) {
        return asIoException(file, e.getErrorCode());
    }

    static IOException asIoException(String file, int errno) {
        return switch (errno) {
            case 2 -> new NoSuchFileException(file);
            case EEXIST -> new FileAlreadyExistsException(file);
            default -> new FileSystemException(file, null, text(errno));
        };
    }

    static String text(int errno) {
        return Text.C.strerror(errno);
    }
}
