package dev.crab.samples.leaks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.samples.leaks.Findings.Column;
import java.util.List;
import org.junit.jupiter.api.Test;

class CountsTest {
    @Test
    void thingsThatAreAlike_areCountedEach() {
        Counts counts = new Counts();
        counts.addAlike(Row.DESCRIPTORS, List.of("pipe:", "socket:", "pipe:"));
        Counts before = new Counts();
        before.addAlike(Row.DESCRIPTORS, List.of("pipe:", "socket:"));

        assertThat(counts.of(Row.DESCRIPTORS)).hasSize(3);
        assertThat(counts.beyond(Row.DESCRIPTORS, before)).containsExactly("pipe: #2");
    }

    @Test
    void findings_areCleanUntilSomethingIsLeft() {
        Findings findings = new Findings();
        findings.count(Row.MOUNTS, Column.RUNNING, 7);
        findings.leaked(Row.MOUNTS, Column.CLOSED, List.of());
        assertThat(findings.clean()).isTrue();
        assertThat(String.join("\n", findings.lines())).contains("none left").doesNotContain("BEHIND");

        findings.leaked(Row.MOUNTS, Column.CLOSED, List.of("/run/crab/x"));
        assertThat(findings.clean()).isFalse();
        assertThat(String.join("\n", findings.lines()))
                .contains("LEFT BEHIND, mounts, left after closing: /run/crab/x");
    }

    @Test
    void whatOthersLose_isAFinding() {
        Findings findings = new Findings();
        findings.disturbed(List.of("the mount"));
        assertThat(findings.clean()).isFalse();
        assertThat(String.join("\n", findings.lines())).contains("DISTURBED: the mount");
    }
}
