package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/** A file descriptor that closes once. Thread-safe. */
public final class NativeFd implements AutoCloseable {
    private final AtomicInteger fd;

    NativeFd(int fd) {
        this.fd = new AtomicInteger(fd);
    }

    /** The descriptor's number; fails with IllegalStateException once closed. */
    public int number() {
        int number = fd.get();
        if (number < 0) {
            throw new IllegalStateException("descriptor is closed");
        }
        return number;
    }

    /** A path that leads to what the descriptor is open on, in this process and as long as it is open. */
    public Path path() {
        return Path.of("/proc/self/fd/" + number());
    }

    /** Gives the number away: whoever takes it closes it. */
    public int release() {
        int number = number();
        fd.set(-1);
        return number;
    }

    @Override
    public void close() {
        int number = fd.getAndSet(-1);
        if (number >= 0) {
            try {
                LibC.C.close(number);
            } catch (LastErrorException e) {
                // Linux frees the descriptor even where close reports an error, and nothing here is written through it.
            }
        }
    }
}
