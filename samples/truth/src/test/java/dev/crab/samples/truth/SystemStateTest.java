package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SystemStateTest {
    private static final SystemState FROZEN = new SystemState(Map.of(
            "process 7 memory 1000", "a",
            "process 7 fd 3", "pipe",
            "process 70 memory 1000", "a",
            "process 70 fd 3", "pipe",
            "file /f", "x"));

    private static final SystemState LATER = new SystemState(Map.of(
            "process 7 memory 1000", "b",
            "process 7 fd 3", "pipe",
            "process 70 memory 1000", "b",
            "process 70 fd 3", "pipe queued=1",
            "file /f", "y"));

    @Test
    void memoryChanged_alone_leavesOutProcessesThatDifferInSomethingElse() {
        assertThat(LATER.memoryChanged(FROZEN, false)).containsExactlyInAnyOrder(7, 70);
        assertThat(LATER.memoryChanged(FROZEN, true)).containsExactly(7);
    }

    @Test
    void withMemoryOf_takesTheMemoryOfThoseProcessesAndNothingElse() {
        SystemState mixed = FROZEN.withMemoryOf(LATER, Set.of(7));
        assertThat(mixed.lines())
                .containsEntry("process 7 memory 1000", "b")
                .containsEntry("process 70 memory 1000", "a")
                .containsEntry("process 70 fd 3", "pipe")
                .containsEntry("file /f", "x");
    }
}
