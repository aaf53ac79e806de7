package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class CrashPlanTest {
    @Test
    void every_killsBehindEachTurn() {
        assertThat(new CrashPlan("every").stops(3, 1))
                .containsOnlyKeys(1, 2, 3)
                .allSatisfy((turn, stop) -> assertThat(stop.kind()).isEqualTo(CrashKind.BOUNDARY));
    }

    @Test
    void tool_killsInEachTurn_fromTheFirst() {
        assertThat(new CrashPlan("tool").stops(3, 1)).containsOnlyKeys(0, 1, 2);
    }

    @Test
    void random_killsAsOftenAsAsked_andTheSameForASeed() {
        CrashPlan plan = new CrashPlan("random:4");

        assertThat(plan.stops(10, 7)).hasSize(4).isEqualTo(plan.stops(10, 7)).isNotEqualTo(plan.stops(10, 8));
        assertThat(plan.stops(2, 7)).hasSize(3);
    }

    @Test
    void anotherLabel_isRefused() {
        assertThatThrownBy(() -> new CrashPlan("sometimes")).hasMessageContaining("sometimes");
    }
}
