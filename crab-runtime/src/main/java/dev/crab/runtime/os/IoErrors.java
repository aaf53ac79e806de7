package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Native;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** Turns what C leaves in errno into the exceptions that Java's own file methods throw. */
final class IoErrors {
    private static final int ENOENT = 2;
    private static final int EEXIST = 17;
    static final int ENOTSUP = 95;

    private interface Text extends com.sun.jna.Library {
        Text C = Native.load("c", Text.class);

        String strerror(int errno);
    }

    private IoErrors() {}

    static IOException asIoException(String file, LastErrorException e) {
        return asIoException(file, e.getErrorCode());
    }

    static IOException asIoException(String file, int errno) {
        return switch (errno) {
            case ENOENT -> new NoSuchFileException(file);
            case EEXIST -> new FileAlreadyExistsException(file);
            default -> new FileSystemException(file, null, text(errno));
        };
    }

    static String text(int errno) {
        return Text.C.strerror(errno);
    }
}
