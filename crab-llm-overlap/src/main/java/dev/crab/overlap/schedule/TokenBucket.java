package dev.crab.overlap.schedule;

/**
 * A rate of bytes. What is taken is known only afterwards, so that the level may fall below zero; then nobody begins until it has filled
 * again. Over any time {@code t} those who begin while the level is above zero take at most {@code rate × (t + 1 s)}, and what the last of
 * them took. Not thread-safe.
 */
final class TokenBucket {
    private static final double NANOS = 1e9;

    private final double rate;
    private double level;
    private long at;

    /** Full at that time; a rate of 0 has no bound. */
    TokenBucket(long bytesPerSecond, long now) {
        this.rate = bytesPerSecond;
        this.level = bytesPerSecond;
        this.at = now;
    }

    boolean isOpen(long now) {
        fill(now);
        return rate == 0 || level > 0;
    }

    /** When it will be open if nothing more is taken. */
    long opensAt(long now) {
        return isOpen(now) ? now : now + 1 + (long) (-level / rate * NANOS);
    }

    void take(long bytes, long now) {
        fill(now);
        level -= bytes;
    }

    /** How long so many bytes take at this rate, in nanoseconds. */
    long time(long bytes) {
        return rate == 0 ? 0 : (long) (bytes / rate * NANOS);
    }

    private void fill(long now) {
        if (now > at) {
            level = Math.min(rate, level + (now - at) / NANOS * rate);
            at = now;
        }
    }
}
