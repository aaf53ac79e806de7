package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** In a layer with so many files that btrfs is asked what changed, turns are judged as by walking it. */
class ManyFilesTest extends InspectorStage {
    @Override
    TurnInspector open() {
        return new TracepointInspector();
    }

    @BeforeAll
    void fill() {
        sandbox.run(
                "mkdir /scene/many && cd /scene/many && seq 6000 | xargs touch; touch /scene/survivor; sync -f /scene;"
                        + " touch later; sync -f /scene"); // two transactions: else all of it would count as changed
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("kinds")
    void turn_isJudgedAsByWalking(TurnKind kind) {
        TurnEffects asked = judge(kind, sandbox.target());
        assertThat(files().updates()).isPositive();
        TurnEffects walked = judge(kind, sandbox.walkedTarget());
        assertThat(files().updates()).isZero();
        assertThat(asked.effect())
                .as(asked + " " + walked)
                .isEqualTo(walked.effect())
                .isEqualTo(kind.effect());
        // Nor does the asking hide anything. It may show more: a snapshot takes mappings their right to write unseen.
        assertThat(rules(asked)).as(asked + " " + walked).containsAll(rules(walked));
    }

    private TurnEffects judge(TurnKind kind, InspectionTarget target) {
        watch.close();
        watch = inspector.watch(target);
        return judge(kind);
    }

    /**
     * Files that were written within the clock's grain of the baseline count as changed by a turn that may have written unseen: two
     * judgements would differ by how long the scheduler took.
     */
    @Override
    void beforeBaseline() {
        try {
            Thread.sleep(2 * UpperFiles.CLOCK_GRAIN_NANOS / 1_000_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private UpperFiles files() {
        return ((TracepointWatch) watch).files();
    }

    /** The rules about files that apply. */
    private static List<String> rules(TurnEffects effects) {
        // Whether a process has run by now is the scheduler's to say, and not the same both times.
        return effects.reasons().stream()
                .filter(reason -> reason.effect() == Effect.FILES)
                .map(EffectReason::rule)
                .toList();
    }
}
