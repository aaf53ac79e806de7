package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.SandboxFactory.Hold;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Who may speak to a sandbox's pid 1: any number of requests, or one thread that holds the sandbox and nobody else. Thread-safe.
 *
 * <p>Between a turn's judgement and its capture no request may begin: what it did would be in neither this turn nor the next.
 */
final class RequestGate {
    /** How long a holder waits for the requests that run: those of a turn have ended, what is left are glances from outside. */
    static final Duration PATIENCE = Duration.ofSeconds(1);

    private final String id;
    private int running;
    private @Nullable Thread holder;
    private int holds;

    RequestGate(String id) {
        this.id = id;
    }

    /**
     * Waits until nobody else holds the sandbox. Each call is followed by one of {@link #leave}.
     *
     * @return whether nobody holds it; false for the holder's own requests
     * @throws CrabException INTERRUPTED; then it has not entered
     */
    synchronized boolean enter() {
        while (isHeldByAnother()) {
            pause(0);
        }
        running++;
        return holder == null;
    }

    synchronized void leave() {
        running--;
        notifyAll();
    }

    /**
     * Keeps requests of other threads from beginning, until closed.
     *
     * @throws CrabException CAPTURE_FAILED if requests that had begun do not end within {@link #PATIENCE}, INTERRUPTED
     */
    synchronized Hold hold() {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (isHeldByAnother()) {
            pause(millisUntil(deadline, "it is being captured already"));
        }
        // Held before the running requests have ended: else somebody who asks without a pause would never let go.
        holder = Thread.currentThread();
        holds++;
        Held held = new Held();
        boolean alone = false;
        try {
            while (running > 0) {
                pause(millisUntil(deadline, running + " requests are still running in it"));
            }
            alone = true;
            return held;
        } finally {
            if (!alone) {
                held.close();
            }
        }
    }

    private boolean isHeldByAnother() {
        return holder != null && holder != Thread.currentThread();
    }

    private long millisUntil(long deadline, String why) {
        long left = deadline - System.nanoTime();
        if (left <= 0) {
            throw CrabException.of(
                    ErrorCode.CAPTURE_FAILED,
                    "sandbox " + id + " cannot be captured",
                    why,
                    "capture at a turn's boundary, when all its tools have returned");
        }
        return left / 1_000_000 + 1;
    }

    /** Until somebody leaves or lets go, or the time is over; 0 stands for no limit. */
    @SuppressWarnings("WaitNotInLoop") // its callers loop
    private void pause(long millis) {
        try {
            wait(millis);
        } catch (InterruptedException e) {
            throw CrabException.interrupted("waiting for sandbox " + id, e);
        }
    }

    private final class Held implements Hold {
        private boolean closed;

        @Override
        public void close() {
            synchronized (RequestGate.this) {
                if (!closed) {
                    closed = true;
                    holds--;
                    if (holds == 0) {
                        holder = null;
                        RequestGate.this.notifyAll();
                    }
                }
            }
        }
    }
}
