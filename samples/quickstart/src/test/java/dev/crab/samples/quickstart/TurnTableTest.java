package dev.crab.samples.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.overlap.TurnReport;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.EffectReason;
import dev.crab.runtime.session.TurnOutcome.Saved;
import java.util.List;
import org.junit.jupiter.api.Test;

class TurnTableTest {
    @Test
    void lines_fitATerminal_andSumUp() {
        TurnReport turn = new TurnReport(
                1,
                List.of("bash"),
                true,
                Effect.FULL,
                List.of(new EffectReason("files-changed", Effect.FILES, List.of("added /root/" + "long/".repeat(30)))),
                Saved.PROCESSES_AND_FILES,
                2_345_678,
                1_500_000_000,
                0,
                30_000_000,
                20_000_000,
                0,
                40_000_000,
                1_500_000,
                false,
                null);

        List<String> lines = TurnTable.lines(List.of(turn, turn));

        assertThat(lines).hasSize(4).allMatch(line -> line.length() <= 80);
        assertThat(lines.get(1)).contains("FULL", "2345 kB", "1.5 s", "20 ms", "1.5 ms", "added /root/");
        assertThat(lines.get(3)).contains("2 turns", "4691 kB", "3.0 s", "40 ms", "3.0 ms");
    }
}
