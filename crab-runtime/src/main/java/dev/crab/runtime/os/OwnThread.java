package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * Work on a thread that does nothing else and ends right after: entering a namespace (setns, unshare) changes the calling thread for good,
 * and a thread of a pool would carry it into other work. What is started from there is born in the namespace.
 */
final class OwnThread {
    private OwnThread() {}

    /** Does it and waits for its end, even if interrupted: it takes milliseconds, and the caller learns of it afterwards. */
    static <T> T call(String name, Callable<T> work) throws IOException {
        Outcome<T> outcome = new Outcome<>(work);
        Thread thread = new Thread(outcome, name);
        thread.setDaemon(true);
        thread.start();
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return outcome.get();
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

    /** Read only after the thread has ended. */
    private static final class Outcome<T> implements Runnable {
        private final Callable<T> work;
        private @Nullable T result;
        private @Nullable Throwable failure;

        Outcome(Callable<T> work) {
            this.work = work;
        }

        @Override
        @SuppressWarnings("IllegalCatch") // it is thrown again where it was asked for
        public void run() {
            try {
                result = work.call();
            } catch (Throwable e) {
                failure = e;
            }
        }

        T get() throws IOException {
            if (failure instanceof IOException known) {
                throw known;
            } else if (failure instanceof RuntimeException known) {
                throw known;
            } else if (failure instanceof Error known) {
                throw known;
            } else if (result == null) {
                throw new IllegalStateException("nothing came of it", failure);
            }
            return result;
        }
    }
}
