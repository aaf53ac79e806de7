package dev.crab.samples.truth;

import dev.crab.runtime.inspector.TurnInspector;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Runs sources of turns, each in a fresh sandbox on a fresh file system. */
final class TruthRun {
    private final TurnInspector inspector;
    private final Path image;
    private final Path work;

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
    }

    void run(Ground.Type type, TurnSource source, Consumer<LabelledTurn> labelled) throws IOException {
        try (Ground ground = new Ground(type, work);
                Arena arena = new Arena(ground, image, work);
                Harness harness = new Harness(arena, inspector, NativeProgram.ORACLE.install(work))) {
            source.run(harness, labelled);
        }
    }
}
