package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Work for several sandboxes, done at the same time. */
final class SideBySide {
    private static final int THREADS = 8;

    private SideBySide() {}

    /** Does all, whatever fails; gives the results in their order, or throws the first failure with the others suppressed. */
    static <T> List<T> all(List<Callable<T>> work) {
        return all(work, result -> {});
    }

    /** The same; where something fails, what the rest came to is handed to {@code undo}. */
    static <T> List<T> all(List<Callable<T>> work, Consumer<T> undo) {
        ExecutorService threads = Executors.newFixedThreadPool(Math.min(THREADS, work.size()), task -> {
            Thread thread = new Thread(task, "crab-branch");
            thread.setDaemon(true);
            return thread;
        });
        List<T> results = new ArrayList<>();
        Throwable failure = null;
        try {
            List<Future<T>> running = new ArrayList<>();
            work.forEach(one -> running.add(threads.submit(one)));
            for (Future<T> one : running) {
                try {
                    results.add(await(one));
                } catch (ExecutionException e) {
                    failure = joined(failure, e.getCause());
                }
            }
        } finally {
            threads.shutdown();
        }
        if (failure != null) {
            results.forEach(undo);
            throw thrown(failure);
        }
        return results;
    }

    /** To its end, even if interrupted: it works on what the caller may be about to remove. */
    private static <T> T await(Future<T> one) throws ExecutionException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return one.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static Throwable joined(@Nullable Throwable before, @Nullable Throwable cause) {
        Throwable next = cause instanceof RuntimeException || cause instanceof Error
                ? cause
                : CrabException.of(ErrorCode.INTERNAL, "a branch cannot be made", String.valueOf(cause), "report this");
        if (before == null) {
            return next;
        }
        before.addSuppressed(next);
        return before;
    }

    private static RuntimeException thrown(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return (RuntimeException) failure;
    }
}
