package dev.crab.overlap.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class JobTransitionsTest {
    private static final String INTRODUCTION = """
            # States of a capture among those of the host

            Drawn from the transition table of `JobTransitions`; a test fails when the two differ (run it with
            `-Dcrab.docs.write=true` to write this page anew). A transition that is not here is refused.
            [scheduler.md](scheduler.md) says what the states are for.

            """;

    @Test
    void diagram_isTheTable() throws IOException {
        Path page = Path.of("..", "docs", "scheduler-states.md");
        String drawn = INTRODUCTION + "```mermaid\n" + JobTransitions.diagram() + "```\n";
        if (Boolean.getBoolean("crab.docs.write")) {
            Files.writeString(page, drawn);
        }
        assertThat(page).hasContent(drawn);
    }

    @ParameterizedTest
    @EnumSource(JobState.class)
    void everyJob_mayEndAndBePromotedAtAnyTime(JobState state) {
        assertThat(JobTransitions.next(state, JobEvent.ENDED)).isEqualTo(JobState.OVER);
        assertThat(JobTransitions.next(state, JobEvent.PROMOTED)).isEqualTo(state);
    }

    @Test
    void captureThatWasNotGranted_cannotEnd() {
        assertThatThrownBy(() -> JobTransitions.next(JobState.WAITING, JobEvent.CAPTURE_ENDED))
                .isInstanceOf(CrabException.class)
                .hasMessageContaining("CAPTURE_ENDED must not happen while it is WAITING");
    }
}
