package dev.crab.samples.truth;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.inspector.TracepointInspector;
import dev.crab.runtime.inspector.TurnInspector;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A short run of everything: each kind, and some random turns with a fixed seed. */
class TruthRunTest {
    private static final long SEED = 7;
    private static final int RANDOM_TURNS = 150;

    @Test
    void kindsAndRandomTurnsOnBtrfs_showNoMiss(@TempDir Path work) throws IOException {
        Report report = new Report();
        List<String> shrunk = new ArrayList<>();
        List<Kind> kinds = KindCatalogue.load();
        try (TurnInspector inspector = new TracepointInspector()) {
            TruthRun run = new TruthRun(inspector, TestImage.directory(), work);
            run.run(Ground.Type.BTRFS, new KindSource(kinds), report::add);
            run.run(Ground.Type.BTRFS, new RandomSource(SEED, RANDOM_TURNS, shrunk::add), report::add);
        }
        String text = String.join("\n", report.lines()) + String.join("\n", shrunk);
        assertThat(report.turns()).as(text).hasSize(kinds.size() + RANDOM_TURNS);
        assertThat(report.misses()).as(text).isZero();
        assertThat(report.disputes()).as(text).isZero();
        // The harness would also pass if every turn were judged FULL.
        assertThat(report.turns().stream()
                        .filter(turn ->
                                turn.judgement().effect() == turn.truth().effect()))
                .as(text)
                .hasSizeGreaterThan(report.turns().size() / 2);
    }
}
