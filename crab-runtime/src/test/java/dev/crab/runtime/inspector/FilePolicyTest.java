package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FilePolicyTest extends InspectorStage {
    private static final String FILE = "seq 2000 > f; touch -d @1000000000 f; touch cache.txt";

    @Override
    TurnInspector open() {
        return new TracepointInspector(new FilePolicy(List.of("/scene/**/__pycache__/**", "/scene/*/cache.txt"), true));
    }

    private TurnEffects judged(String before, String turn) {
        prepare(before);
        watch.begin();
        sandbox.run(shell(turn));
        return watch.judge();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "mkdir __pycache__; echo x > __pycache__/m.pyc",
                "echo more >> cache.txt",
                "rm cache.txt",
                "sed -i s/nowhere/else/ f",
                "cp f g; mv g f",
                "touch f",
                "cat f > g; cat g > f; rm g",
                "cat /etc/hosts > g; cat g > /etc/hosts; rm g"
            })
    void changesThatAreIgnored_areNoReasonToSave(String turn) {
        TurnEffects effects = judged(FILE, turn);
        assertThat(effects.effect()).as(effects.toString()).isEqualTo(Effect.NONE);
        assertThat(effects.reasons()).extracting(EffectReason::rule).containsExactly("files-ignored");
    }

    @ParameterizedTest
    @CsvSource({
        "sed -i s/5/6/ f, f",
        "chmod 600 f, f",
        "mkdir -p a/__pycache__x, a/__pycache__x",
        "echo more >> cache.txt; echo x > n, n",
        "ln f g, g",
        "rm f, f",
    })
    void changesThatCount_areFiles(String turn, String evidence) {
        TurnEffects effects = judged(FILE, turn);
        assertThat(effects.effect()).as(effects.toString()).isEqualTo(Effect.FILES);
        assertThat(effects.reasons()).singleElement().satisfies(reason -> {
            assertThat(reason.rule()).isEqualTo("files-changed");
            assertThat(reason.evidence())
                    .anyMatch(line -> line.endsWith("/" + evidence))
                    .noneMatch(line -> line.endsWith("cache.txt"));
        });
    }

    @ParameterizedTest
    @CsvSource({"cache.txt, echo more >> cache.txt", "f, cp f g; mv g f", "f, touch f"})
    void ignoredChangesOfWhatASurvivorHolds_count(String held, String turn) {
        TurnEffects effects = judged(FILE + "; K hold " + held + " r", turn);
        assertThat(effects.effect()).as(effects.toString()).isEqualTo(Effect.FULL);
        assertThat(effects.reasons()).extracting(EffectReason::rule).contains("changed-file-held-by-survivor");
    }

    @Test
    void contentWrittenTwiceWithinTheClocksGrain_isReadAgain() {
        prepare(FILE);
        watch.begin();
        sandbox.run(shell("cp f g; mv g f"));
        assertThat(watch.judge().effect()).isEqualTo(Effect.NONE);
        sandbox.run(shell("echo 9 | dd of=f conv=notrunc bs=1 count=1 status=none"));
        assertThat(watch.judge().effect()).isEqualTo(Effect.FILES);
    }

    @Test
    void globsThatAreNone_areRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new FilePolicy(List.of("**/x"), false));
        assertThatIllegalArgumentException().isThrownBy(() -> new FilePolicy(List.of("/[x"), false));
    }
}
