package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What every inspector must tell apart. Needs root, btrfs, the cgroup v2 hierarchy and python3. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class TurnInspectorSuite {
    TestSandbox sandbox;
    TurnInspector inspector;
    TurnInspector.Watch watch;
    private int directory;

    /** Opens the inspector under test. */
    abstract TurnInspector open();

    @BeforeAll
    void start() throws IOException {
        sandbox = new TestSandbox();
        String kinds = new String(
                TurnInspectorSuite.class.getResourceAsStream("kinds.py").readAllBytes(), StandardCharsets.UTF_8);
        sandbox.run("mkdir -p /scene; cat > /scene/kinds.py <<'END'\n" + kinds + "\nEND");
        inspector = open();
        watch = inspector.watch(sandbox.target());
    }

    @AfterAll
    void stop() throws IOException {
        if (inspector != null) {
            inspector.close();
        }
        if (sandbox != null) {
            sandbox.close();
        }
    }

    static Stream<TurnKind> kinds() {
        return TurnKind.all().stream();
    }

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

    /** Runs what comes before, makes it the baseline, runs the turn and judges it. */
    TurnEffects judge(TurnKind kind) {
        prepare(kind.before());
        watch.begin();
        sandbox.run(shell(kind.turn()));
        return watch.judge();
    }

    /** Makes the state after that line of bash the baseline. */
    void prepare(String before) {
        sandbox.clear();
        directory++;
        sandbox.run("mkdir -p /scene/" + directory + "; seq 2000 > /scene/m; umount /mnt 2>/dev/null; true");
        sandbox.run(shell(before));
        sandbox.awaitRest();
        sandbox.frozen(() -> {
            watch.judge();
            watch.rebase();
        });
    }

    String shell(String bash) {
        return "cd /scene/" + directory + "; K() { /usr/bin/python3 -B /scene/kinds.py \"$@\"; }\n"
                + "S=$(cat /scene/survivor 2>/dev/null)\n"
                + bash.replace(
                        "; kill", // the survivor may have been made by the same line
                        "; S=$(cat /scene/survivor 2>/dev/null); kill");
    }
}
