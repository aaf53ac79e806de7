package dev.crab.samples.truth;

import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.sandbox.RuncSandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Runs sources of turns, each in a fresh sandbox on a fresh file system. */
final class TruthRun {
    private final TurnInspector inspector;
    private final Path image;
    private final Path work;
    private final SandboxFactory factory;

    /**
     * A run.
     *
     * @param inspector is under test
     * @param image directory of the sandboxes' image
     * @param work a directory of the run's own
     */
    TruthRun(TurnInspector inspector, Path image, Path work) {
        this.inspector = inspector;
        this.image = image;
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
                Arena arena = new Arena(ground, image, factory);
                Harness harness = new Harness(arena, inspector, NativeProgram.ORACLE.install(work))) {
            source.run(harness, labelled);
        }
    }
}
