package dev.crab.overlap;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/** An LLM call in flight: opened at the boundary, closed when the response is there. Thread-safe. */
public final class LlmWindow implements AutoCloseable {
    private final long opened;
    private final LongSupplier clock;
    private final LongConsumer onClose;
    private final AtomicBoolean open = new AtomicBoolean(true);

    LlmWindow(LongSupplier clock, LongConsumer onClose) {
        this.clock = clock;
        this.onClose = onClose;
        this.opened = clock.getAsLong();
    }

    long openedNanos() {
        return opened;
    }

    /** The response, or the model's failure, is there. Idempotent. */
    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            onClose.accept(clock.getAsLong());
        }
    }
}
