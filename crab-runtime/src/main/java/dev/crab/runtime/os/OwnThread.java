package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/**
 * Work on a thread that does nothing else and ends right after: entering a namespace (setns, unshare) changes the calling thread for good,
 * and a thread of a pool would carry it into other work. What is started from there is born in the namespace.
 */
final class OwnThread {
    private OwnThread() {}

    /** Does it and waits for its end, even if interrupted: it takes milliseconds, and the caller learns of it afterwards. */
    static <T> T call(String name, Callable<T> work) throws IOException {
        FutureTask<T> task = new FutureTask<>(work);
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    thread.join();
                    return task.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException e) {
                    throw thrown(e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static IOException thrown(@Nullable Throwable cause) {
        if (cause instanceof RuntimeException known) {
            throw known;
        } else if (cause instanceof Error known) {
            throw known;
        }
        return cause instanceof IOException known ? known : new IOException(cause);
    }

    /**
     * Takes the calling thread into a namespace.
     *
     * @param file that names it
     * @param type CLONE_NEW…, which it must be of
     */
    static void join(Path file, int type) throws IOException {
        try (NativeFd namespace = new NativeFd(LibC.C.open(file.toString(), LibC.O_RDONLY | LibC.O_CLOEXEC, 0))) {
            LibC.C.setns(namespace.number(), type);
        } catch (LastErrorException e) {
            throw Errno.of("enter the namespace " + file, e);
        }
    }
}
