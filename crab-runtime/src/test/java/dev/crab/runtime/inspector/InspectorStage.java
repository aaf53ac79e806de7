package dev.crab.runtime.inspector;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;

/** A sandbox and an inspector that watches it, for tests of turns. Needs root, btrfs, the cgroup v2 hierarchy and python3. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class InspectorStage {
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
        beforeBaseline();
        sandbox.frozen(() -> {
            watch.judge();
            watch.rebase();
        });
    }

    /** What else has to happen before a baseline is taken. */
    void beforeBaseline() {}

    String shell(String bash) {
        return "cd /scene/" + directory + "; K() { /usr/bin/python3 -B /scene/kinds.py \"$@\"; }\n"
                + "S=$(cat /scene/survivor 2>/dev/null)\n"
                + bash.replace(
                        "; kill", // the survivor may have been made by the same line
                        "; S=$(cat /scene/survivor 2>/dev/null); kill");
    }
}
