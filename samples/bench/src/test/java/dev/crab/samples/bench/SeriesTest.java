package dev.crab.samples.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class SeriesTest {
    @Test
    void quantile_liesBetweenTheRuns() {
        Series series = new Series("test");
        for (long millis : new long[] {40, 10, 30, 20}) {
            series.add(millis * 1_000_000);
        }

        assertThat(series.min()).isEqualTo(10);
        assertThat(series.quantile(0.25)).isEqualTo(17.5);
        assertThat(series.median()).isEqualTo(25);
        assertThat(series.max()).isEqualTo(40);
    }

    @Test
    void quantile_withoutAnyRun_isRefused() {
        Series series = new Series("nothing");

        assertThatThrownBy(series::median)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("nothing");
    }
}
