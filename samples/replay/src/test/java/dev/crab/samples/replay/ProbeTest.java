package dev.crab.samples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ProbeTest {
    @Test
    void answers_withoutAnExpectation_haveToBeTheSame() {
        assertThat(CrashRun.alike("total 7", "total 7", null)).isTrue();
        assertThat(CrashRun.alike("total 7", "total 8", null)).isFalse();
    }

    @Test
    void answers_ofWhichTheFirstIsTheExpectedOne_bothHaveToBe() {
        assertThat(CrashRun.alike("total 7 ok", "total 9 ok", "total [0-9]+ ok"))
                .isTrue();
        assertThat(CrashRun.alike("total 7 ok", "no total", "total [0-9]+ ok")).isFalse();
    }

    @Test
    void answers_beforeTheEnd_mayCount_butNotSayAnotherThing() {
        assertThat(CrashRun.alike("21: not ready", "26: not ready", "total")).isTrue();
        assertThat(CrashRun.alike("21: not ready", "26: no such file", "total")).isFalse();
    }
}
