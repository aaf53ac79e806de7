package dev.crab.runtime.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.store.ProcessEntry;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProcessTableTest {
    private static ProcessEntry process(int pid, int ppid, int sid) {
        return new ProcessEntry(pid, ppid, sid, sid, "p" + pid, "L", List.of(), List.of(), List.of());
    }

    private static void restorable(ProcessEntry... table) {
        assertThatCode(() -> ProcessTable.checkSessions("s", List.of(table))).doesNotThrowAnyException();
    }

    private static void notRestorable(String reason, ProcessEntry... table) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> ProcessTable.checkSessions("s", List.of(table)))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.CAPTURE_FAILED))
                .withMessageContaining(reason);
    }

    @Test
    void sessions_thatCanBeEnteredAgainPass() {
        restorable(process(1, 0, 1));
        restorable(process(1, 0, 1), process(2, 1, 2), process(3, 2, 2), process(4, 3, 2));
        // An orphan whose session leader has ended: a child of pid 1, for which CRIU makes a leader up.
        restorable(process(1, 0, 1), process(3, 1, 2));
        // Born before its parent made a session of its own.
        restorable(process(1, 0, 1), process(2, 1, 2), process(3, 2, 3), process(4, 3, 2));
        // The same, one generation further up.
        restorable(process(1, 0, 1), process(2, 1, 2), process(3, 2, 3), process(4, 3, 4), process(5, 4, 2));
    }

    @Test
    void sessions_whoseLeaderIsGoneBelowPid1AreRefused() {
        notRestorable(
                "process 4 (p4) could not be restored: the leader of its session 9",
                process(1, 0, 1),
                process(3, 1, 3),
                process(4, 3, 9));
    }

    @Test
    void processes_bornInTwoSessionsAreRefused() {
        notRestorable(
                "born in different sessions",
                process(1, 0, 1),
                process(2, 1, 2),
                process(3, 2, 3),
                process(4, 3, 4),
                process(5, 4, 2),
                process(6, 4, 3));
    }

    @Test
    void differences_nameWhatIsMissingExtraAndOther() {
        List<ProcessEntry> expected = List.of(process(1, 0, 1), process(2, 1, 2));
        assertThat(ProcessTable.differences(expected, expected)).isEmpty();
        assertThat(ProcessTable.differences(expected, List.of(process(1, 0, 1), process(3, 1, 3))))
                .containsExactly("process 2 (p2) is missing", "process 3 (p3) is extra");
        assertThat(ProcessTable.differences(expected, List.of(process(1, 0, 1), process(2, 1, 1))))
                .singleElement()
                .asString()
                .startsWith("process 2 is ");
    }
}
