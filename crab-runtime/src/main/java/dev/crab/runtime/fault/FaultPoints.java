package dev.crab.runtime.fault;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Named points in the code where a test can make the process stop or a step fail.
 *
 * <p>Off (the normal case), reaching a point costs one volatile read. On, a {@link Handler} is told the point's name and how often
 * this process has reached it. Names are {@code area.step}, for instance {@code capture.frozen} or {@code commit.record}.
 *
 * <p>A process may be armed from outside by the system property {@value #PROPERTY} = {@code name@n}: at the n-th time (from 1) the
 * point is reached, the process writes the line {@code crab-fault name@n} to standard output and waits there for ever, so that
 * whoever reads that line can end it by a real SIGKILL at exactly this point.
 *
 * <p>Thread-safe.
 */
public final class FaultPoints {
    /** System property that arms one point of this process. */
    public static final String PROPERTY = "crab.fault";

    /** What to do at a point; may throw, may never return. */
    @FunctionalInterface
    public interface Handler {
        void reached(String name, int times);
    }

    private static final Map<String, AtomicInteger> COUNTS = new ConcurrentHashMap<>();
    private static volatile @Nullable Handler handler = fromProperty(System.getProperty(PROPERTY));

    private FaultPoints() {}

    /** Marks a point. Does nothing unless a handler is set. */
    public static void reach(String name) {
        Handler current = handler;
        if (current != null) {
            current.reached(
                    name, COUNTS.computeIfAbsent(name, n -> new AtomicInteger()).incrementAndGet());
        }
    }

    /** Sets the handler for the whole process, or none; counting starts anew. For tests. */
    public static void handler(@Nullable Handler newHandler) {
        COUNTS.clear();
        handler = newHandler;
    }

    private static @Nullable Handler fromProperty(@Nullable String armed) {
        if (armed == null || armed.isEmpty()) {
            return null;
        }
        return (name, times) -> {
            if (armed.equals(name + "@" + times)) {
                System.out.println("crab-fault " + armed);
                System.out.flush();
                waitForSigkill();
            }
        };
    }

    private static void waitForSigkill() {
        while (true) {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException ignored) {
                // Only SIGKILL may end the process here: going on would run past the point that is being tested.
                Thread.interrupted();
            }
        }
    }
}
