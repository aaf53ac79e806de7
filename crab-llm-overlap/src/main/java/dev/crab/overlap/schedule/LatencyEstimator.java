package dev.crab.overlap.schedule;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import java.util.Arrays;

/**
 * Predicts how long an LLM call will be in flight, from the latest calls of the same model. Thread-safe.
 *
 * <p>A model writes one token after the other, so that the latency of a call is affine in the length of its output: {@code d = a + b·n},
 * where {@code a} is the time to the first token and {@code b} the time per token. {@code b} is the median of the slopes between all pairs
 * of recent calls (Theil 1950, Sen 1968), which up to 29 % of outliers cannot move far, and never below zero. A recent call of {@code n}
 * tokens would then have taken {@code d − b·(n − m)} had it been cut off at the {@code m < n} tokens that the call to be predicted may
 * have at most; no call is ever stretched. The prediction is the {@value #QUANTILE}-quantile of these times over the last {@value #RECENT}
 * calls.
 *
 * <p>A model that has been called fewer than {@value #ENOUGH} times is predicted to answer after {@link #UNKNOWN}. That is shorter than most
 * answers: what is not known counts as urgent. As long as nothing is known of any model, deadlines come in the order of their boundaries, and
 * earliest deadline first is first come, first served.
 */
public final class LatencyEstimator {
    /** What is predicted where nothing is known. */
    public static final Duration UNKNOWN = Duration.ofSeconds(1);

    static final int RECENT = 64;
    static final int ENOUGH = 3;
    static final double QUANTILE = 0.5;

    /** Names of models come from requests; those that have not been used for longest are forgotten. */
    private static final int MODELS = 256;

    private final Cache<String, History> models =
            Caffeine.newBuilder().maximumSize(MODELS).build();

    /** An estimator that knows nothing yet. */
    public LatencyEstimator() {}

    /**
     * A call has been answered.
     *
     * @param model the model's name; empty if it is not known, which counts as one model
     * @param nanos from the request to the response; a negative one is ignored
     * @param outputTokens the length of the output, 0 or less if it is not known
     */
    public void record(String model, long nanos, int outputTokens) {
        if (nanos >= 0) {
            models.get(model, name -> new History()).add(nanos, Math.max(0, outputTokens));
        }
    }

    /**
     * How long a call will probably take, in nanoseconds; from 0.
     *
     * @param model as for {@link #record}
     * @param mostTokens what the output may have at most, 0 or less for no bound
     */
    public long predict(String model, int mostTokens) {
        History history = models.getIfPresent(model);
        return history == null ? UNKNOWN.toNanos() : history.predict(mostTokens);
    }

    /** The latest calls of one model, in a ring. */
    private static final class History {
        private final long[] nanos = new long[RECENT];
        private final int[] tokens = new int[RECENT];
        private int next;
        private int count;
        private double perToken = Double.NaN;

        synchronized void add(long took, int output) {
            nanos[next] = took;
            tokens[next] = output;
            next = (next + 1) % RECENT;
            count = Math.min(RECENT, count + 1);
            perToken = Double.NaN;
        }

        synchronized long predict(int mostTokens) {
            if (count < ENOUGH) {
                return UNKNOWN.toNanos();
            }
            long[] times = Arrays.copyOf(nanos, count);
            if (mostTokens > 0) {
                for (int i = 0; i < count; i++) {
                    long cut = (long) (perToken() * Math.max(0, tokens[i] - mostTokens));
                    times[i] = Math.max(0, times[i] - cut);
                }
            }
            Arrays.sort(times);
            return times[(int) (QUANTILE * (count - 1))];
        }

        private double perToken() {
            if (Double.isNaN(perToken)) {
                perToken = slope();
            }
            return perToken;
        }

        private double slope() {
            double[] slopes = new double[count * (count - 1) / 2];
            int found = 0;
            for (int i = 0; i < count; i++) {
                for (int j = 0; j < i; j++) {
                    int longer = tokens[i] - tokens[j];
                    if (longer != 0 && tokens[i] > 0 && tokens[j] > 0) {
                        slopes[found++] = (double) (nanos[i] - nanos[j]) / longer;
                    }
                }
            }
            if (found == 0) {
                return 0;
            }
            Arrays.sort(slopes, 0, found);
            return Math.max(0, slopes[found / 2]);
        }
    }
}
