package dev.crab.overlap;

import dev.crab.overlap.schedule.LatencyEstimator;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/** An LLM call in flight: opened at the boundary, closed when the response is there. Thread-safe. */
public final class LlmWindow implements AutoCloseable {
    private final long opened;
    private final long expected;
    private final LlmCall call;
    private final LatencyEstimator estimator;
    private final LongSupplier clock;
    private final LongConsumer onClose;
    private final AtomicBoolean open = new AtomicBoolean(true);

    LlmWindow(LlmCall call, LatencyEstimator estimator, LongSupplier clock, LongConsumer onClose) {
        this.call = call;
        this.estimator = estimator;
        this.clock = clock;
        this.onClose = onClose;
        this.opened = clock.getAsLong();
        this.expected = opened + estimator.predict(call.model(), call.mostTokens());
    }

    long openedNanos() {
        return opened;
    }

    /** When the response is expected. */
    long expectedNanos() {
        return expected;
    }

    /**
     * The response is there; closes the window, and later ones of this model are predicted by it.
     *
     * @param outputTokens how long the response is, in tokens; 0 if it is not known
     */
    public void answered(int outputTokens) {
        if (open.compareAndSet(true, false)) {
            long now = clock.getAsLong();
            onClose.accept(now);
            estimator.record(call.model(), now - opened, outputTokens);
        }
    }

    /** The response, or the model's failure, is there, and tells nothing of later ones. Idempotent. */
    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            onClose.accept(clock.getAsLong());
        }
    }
}
