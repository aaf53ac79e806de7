package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Opens the sessions that were made for branches side by side; all or, where that fails, none of them is left. */
final class Branches {
    /** Sandboxes that come to be at the same time. */
    private static final int SIDE_BY_SIDE = 8;

    private Branches() {}

    static List<SandboxSession> open(SessionServices services, List<String> names, SessionCircle circle) {
        ExecutorService threads = Executors.newFixedThreadPool(Math.min(SIDE_BY_SIDE, names.size()), task -> {
            Thread thread = new Thread(task, "crab-branch");
            thread.setDaemon(true);
            return thread;
        });
        List<SandboxSession> open = new ArrayList<>();
        RuntimeException failure = null;
        boolean interrupted = false;
        try {
            List<Future<SandboxSession>> opening = new ArrayList<>();
            for (String name : names) {
                opening.add(threads.submit(() -> circle.open(name)));
            }
            for (Future<SandboxSession> one : opening) {
                while (true) {
                    try {
                        open.add(one.get());
                    } catch (InterruptedException e) {
                        interrupted = true;
                        continue;
                    } catch (ExecutionException e) {
                        failure = first(failure, e.getCause());
                    }
                    break;
                }
            }
        } finally {
            threads.shutdown();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        if (failure != null) {
            open.forEach(session -> Quietly.all(session.id(), session::close));
            names.forEach(name -> Quietly.all(name, () -> SessionRemoval.remove(services, name)));
            throw failure;
        }
        return open;
    }

    private static RuntimeException first(@Nullable RuntimeException before, @Nullable Throwable cause) {
        RuntimeException next = cause instanceof RuntimeException runtime
                ? runtime
                : CrabException.of(
                        ErrorCode.INTERNAL, "a branch cannot be opened", String.valueOf(cause), "report this");
        if (before == null) {
            return next;
        }
        before.addSuppressed(next);
        return before;
    }
}
