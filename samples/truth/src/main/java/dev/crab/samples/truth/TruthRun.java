package dev.crab.samples.truth;

import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.RuncSandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Runs sources of turns, each in a fresh sandbox on a fresh file system. */
final class TruthRun {
    private final TurnInspector inspector;
    private final SandboxSpec spec;
    private final Path work;
    private final int beside;
    private final SandboxFactory factory;

    /**
     * A run.
     *
     * @param inspector is under test
     * @param image directory of the sandboxes' image
     * @param work a directory of the run's own
     */
    TruthRun(TurnInspector inspector, Path image, Path work) {
        this(inspector, Arena.spec(image), work, 0);
    }

    /**
     * As {@link #TruthRun(TurnInspector, Path, Path)}, with the sandboxes' limits given, too.
     *
     * @param beside so many files that no turn touches are in the writable layer
     */
    TruthRun(TurnInspector inspector, SandboxSpec spec, Path work, int beside) {
        this.beside = beside;
        this.inspector = inspector;
        this.spec = spec;
        this.work = work;
        this.factory = new RuncSandboxFactory(work);
    }

    /**
     * Runs a source on a file system of that type.
     *
     * @param labelled gets every turn
     */
    void run(Ground.Type type, TurnSource source, Consumer<LabelledTurn> labelled) throws IOException {
        Ground.sweep(type, work, factory);
        try (Ground ground = new Ground(type, work);
                Arena arena = new Arena(ground, spec, factory)) {
            if (beside > 0) {
                ExecResult filled = arena.bash("/", "mkdir /beside && cd /beside && seq " + beside + " | xargs touch");
                if (!filled.isSuccess()) {
                    throw new IOException("the layer cannot be filled: " + filled.text());
                }
            }
            try (Harness harness = new Harness(arena, inspector, NativeProgram.ORACLE.install(work))) {
                source.run(harness, labelled);
            }
        }
    }
}
