package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import java.io.IOException;

/** A failed system call as an exception that Java code expects, with the number kept. */
public final class Errno extends IOException {
    private static final long serialVersionUID = 1L;

    public static final int ENOENT = LibC.ENOENT;
    public static final int ESRCH = LibC.ESRCH;
    public static final int EBUSY = LibC.EBUSY;
    public static final int EINVAL = LibC.EINVAL;

    private final int number;

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
}
