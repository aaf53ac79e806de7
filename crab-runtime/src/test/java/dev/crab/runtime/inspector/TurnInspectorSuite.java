package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What an inspector must tell apart that watches what processes do. */
abstract class TurnInspectorSuite extends InspectorStage {
    @ParameterizedTest(name = "{0}")
    @MethodSource("kinds")
    void turn(TurnKind kind) {
        TurnEffects effects = judge(kind);
        assertThat(effects.effect()).as(effects.toString()).isEqualTo(kind.effect());
        if (!kind.rule().isEmpty()) {
            assertThat(effects.reasons()).extracting(EffectReason::rule).contains(kind.rule());
        }
    }

    @Test
    void turnAfterCapture_withIdleSurvivor_isNone() {
        prepare("K idle; K tcp");
        for (int i = 0; i < 5; i++) {
            sandbox.frozen(() -> {
                watch.judge();
                watch.rebase();
            });
            watch.begin();
            sandbox.run("true");
            TurnEffects effects = watch.judge();
            assertThat(effects.effect()).as(effects.toString()).isEqualTo(Effect.NONE);
        }
    }

    @Test
    void filesTurn_judgedAgainUnderTheFreeze_isStillFiles() {
        prepare("K idle");
        watch.begin();
        sandbox.run(shell("echo x > n"));
        assertThat(watch.judge().effect()).isEqualTo(Effect.FILES);
        sandbox.frozen(() -> {
            TurnEffects effects = watch.judge();
            assertThat(effects.effect()).as(effects.toString()).isEqualTo(Effect.FILES);
            watch.rebase();
        });
        watch.begin();
        sandbox.run("true");
        assertThat(watch.judge().effect()).isEqualTo(Effect.NONE);
    }

    @Test
    void judgement_withoutRebase_isKept() {
        prepare("");
        watch.begin();
        sandbox.run(shell("echo x > n"));
        assertThat(watch.judge().effect()).isEqualTo(Effect.FILES);
        assertThat(watch.judge().effect()).isEqualTo(Effect.FILES);
        watch.begin();
        sandbox.run(shell("rm n"));
        assertThat(watch.judge().effect()).isEqualTo(Effect.NONE);
    }

    @Test
    void changeBetweenJudgeAndRebaseOfNone_belongsToTheNextTurn() {
        prepare("K idle");
        watch.begin();
        sandbox.run("true");
        assertThat(watch.judge().effect()).isEqualTo(Effect.NONE);
        sandbox.run("kill -STOP $(cat /scene/survivor)");
        watch.rebase();
        watch.begin();
        sandbox.run("true");
        assertThat(watch.judge().effect()).isEqualTo(Effect.PROCESSES);
    }

    @Test
    void whatSurvivorsDoBetweenTurns_belongsToTheNextTurn() {
        prepare("K map /scene/m");
        watch.begin();
        sandbox.run("true");
        assertThat(watch.judge().effect()).isEqualTo(Effect.NONE);
        watch.rebase();
        sandbox.run("kill -USR1 $(cat /scene/survivor)"); // no begin: the hook at the end of calls is off
        watch.begin();
        sandbox.run("true");
        assertThat(watch.judge().effect()).isEqualTo(Effect.FULL);
    }
}
