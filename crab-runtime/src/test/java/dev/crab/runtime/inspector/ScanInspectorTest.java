package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ScanInspectorTest extends InspectorStage {
    /** What Crab's sandboxes forbid, so that this tier need not see it: it leaves neither a file nor a process behind. */
    private static final Set<String> FORBIDDEN =
            Set.of("hostName_isProcesses", "sysctl_isProcesses", "mount_isProcesses", "messageQueueLeft_isProcesses");

    /** What the tracepoint tier takes for a change because it cannot follow, and which changes nothing. */
    private static final Set<String> CHANGES_NOTHING = Set.of("unlistedCall_isFull", "ioUring_isFull");

    @Override
    TurnInspector open() {
        return new ScanInspector(FilePolicy.EVERYTHING);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("kinds")
    void turn_isNeverJudgedLessThanItIs(TurnKind kind) {
        TurnEffects effects = judge(kind);
        if (FORBIDDEN.contains(kind.name()) || CHANGES_NOTHING.contains(kind.name())) {
            assertThat(kind.before()).isEmpty();
            return;
        }
        // With processes come the files: a dump is never taken without its snapshot.
        assertThat(effects.effect().files()
                        || effects.effect().processes()
                        || !kind.effect().files())
                .as(effects.toString())
                .isTrue();
        boolean foreign = kind.rule().equals("foreign-abi"); // an unlink, which it sees for what it is
        assertThat(effects.effect().processes() || !kind.effect().processes() || foreign)
                .as(effects.toString())
                .isTrue();
    }

    @Test
    void turnBesideASurvivor_isDumpedThoughNothingHappened() {
        prepare("K idle");
        for (int i = 0; i < 2; i++) {
            watch.begin();
            TurnEffects effects = watch.judge();
            assertThat(effects.effect()).isEqualTo(Effect.PROCESSES);
            assertThat(effects.reasons()).extracting(EffectReason::rule).containsExactly("survivor-not-watched");
            sandbox.frozen(watch::rebase);
        }
    }

    @Test
    void turnsWithoutAProcessLeft_areToldApartByTheFiles() throws Exception {
        prepare("");
        Thread.sleep(50); // what was written within the clock's grain before the baseline counts as written after it
        sandbox.frozen(watch::rebase);
        for (int i = 0; i < 3; i++) {
            watch.begin();
            sandbox.run(shell("echo x > n; rm n; cat /etc/passwd | sort"));
            TurnEffects effects = watch.judge();
            assertThat(effects.effect()).as(effects.toString()).isEqualTo(Effect.NONE);
            watch.rebase();
        }
        watch.begin();
        sandbox.run(shell("echo x > n"));
        assertThat(watch.judge().effect()).isEqualTo(Effect.FILES);
    }

    @Test
    void sandboxThatIsGone_isFull(@TempDir Path directory) throws Exception {
        Path upper = Files.createDirectory(directory.resolve("upper"));
        Process init = new ProcessBuilder("sleep", "1000").start();
        try (TurnInspector scan = new ScanInspector(FilePolicy.EVERYTHING)) {
            TurnInspector.Watch other = scan.watch(
                    new InspectionTarget("gone", sandbox.cgroup(), (int) init.pid(), upper, directory, null));
            init.destroyForcibly().waitFor();
            assertThat(other.judge().reasons()).extracting(EffectReason::rule).containsExactly("inspection-failed");
            other.rebase();
            assertThat(other.judge().effect()).isEqualTo(Effect.FULL);
        } finally {
            init.destroyForcibly();
        }
    }
}
