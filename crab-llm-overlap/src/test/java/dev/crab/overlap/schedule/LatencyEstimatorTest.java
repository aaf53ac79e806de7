package dev.crab.overlap.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class LatencyEstimatorTest {
    private static final long MILLI = 1_000_000;

    private final LatencyEstimator estimator = new LatencyEstimator();

    @Test
    void unknownModel_isUrgent() {
        assertThat(estimator.predict("m", 0)).isEqualTo(LatencyEstimator.UNKNOWN.toNanos());
        estimator.record("m", 9000 * MILLI, 10);
        estimator.record("m", 9000 * MILLI, 10);
        assertThat(estimator.predict("m", 0)).isEqualTo(LatencyEstimator.UNKNOWN.toNanos());
        estimator.record("m", 9000 * MILLI, 10);
        assertThat(estimator.predict("m", 0)).isEqualTo(9000 * MILLI);
        assertThat(estimator.predict("other", 0)).isEqualTo(LatencyEstimator.UNKNOWN.toNanos());
    }

    @Test
    void median_isNotMovedByOneThatHung() {
        for (int i = 0; i < 9; i++) {
            estimator.record("m", (100 + i) * MILLI, 0);
        }
        estimator.record("m", 600_000 * MILLI, 0);
        assertThat(estimator.predict("m", 0)).isBetween(100 * MILLI, 108 * MILLI);
    }

    @Test
    void onlyTheLatestCalls_count() {
        for (int i = 0; i < 1000; i++) {
            estimator.record("m", 1000 * MILLI, 0);
        }
        for (int i = 0; i < LatencyEstimator.RECENT; i++) {
            estimator.record("m", 50 * MILLI, 0);
        }
        assertThat(estimator.predict("m", 0)).isEqualTo(50 * MILLI);
    }

    @Test
    void boundOfTheOutput_isTakenAccountOf() {
        Random random = new Random(3);
        for (int i = 0; i < 40; i++) {
            int tokens = 200 + random.nextInt(800);
            // 300 ms to the first token, 20 ms for each, and now and then a call that hangs.
            long nanos = (300 + 20L * tokens + random.nextInt(50)) * MILLI + (i % 10 == 0 ? 60_000 * MILLI : 0);
            estimator.record("m", nanos, tokens);
        }
        assertThat(estimator.predict("m", 100)).isCloseTo((300 + 20 * 100) * MILLI, Percentage.withPercentage(10));
        // No call is stretched: a bound above everything seen changes nothing.
        assertThat(estimator.predict("m", 100_000)).isEqualTo(estimator.predict("m", 0));
    }

    @Test
    void unknownLengths_leaveTheTimesAsTheyAre() {
        for (int i = 0; i < 10; i++) {
            estimator.record("m", (1000 + i) * MILLI, 0);
        }
        assertThat(estimator.predict("m", 1)).isEqualTo(estimator.predict("m", 0));
    }

    @Test
    void latencyThatFallsWithLength_isNoReasonToStretch() {
        for (int i = 1; i < 20; i++) {
            estimator.record("m", (10_000 - 100L * i) * MILLI, 100 * i);
        }
        assertThat(estimator.predict("m", 10)).isEqualTo(estimator.predict("m", 0));
    }

    @Test
    void manyModels_areForgotten() {
        for (int i = 0; i < 100_000; i++) {
            estimator.record("m" + i, 5 * MILLI, 0);
        }
        estimator.record("last", -1, 0);
        assertThat(estimator.predict("last", 0)).isEqualTo(LatencyEstimator.UNKNOWN.toNanos());
    }
}
