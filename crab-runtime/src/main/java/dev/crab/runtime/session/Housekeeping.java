package dev.crab.runtime.session;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a session has done behind its caller's back, one after the other. Used under the session's lock. */
final class Housekeeping {
    private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);

    private final String session;
    private final ExecutorService thread;
    private @Nullable Future<?> last;

    Housekeeping(String session, ExecutorService thread) {
        this.session = session;
        this.thread = thread;
    }

    /** @param failure what the log says if it fails */
    void later(String failure, Runnable work) {
        try {
            last = thread.submit(() -> {
                try {
                    work.run();
                } catch (RuntimeException e) {
                    LOG.warn("session {}: {}", session, failure, e);
                }
            });
        } catch (RejectedExecutionException e) {
            LOG.debug("session {}: not done, the runtime is being closed: {}", session, failure);
        }
    }

    /** Behind the lock the session may be another process's, which may have gone back to a generation that counts as old here. */
    void await() {
        Future<?> pending = last;
        boolean interrupted = false;
        while (pending != null) {
            try {
                pending.get();
                pending = null;
            } catch (InterruptedException e) {
                interrupted = true;
            } catch (ExecutionException e) {
                LOG.warn("session {}: something could not be done behind its back", session, e);
                pending = null;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
