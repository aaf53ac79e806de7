package dev.crab.samples.truth;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.samples.common.Recording;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** Replays recorded sessions, each in a sandbox of its own over btrfs. */
final class RecordedRun {
    private static final long MEMORY = 2L << 30;
    private static final int PIDS = 2000;

    private final TimedInspector inspector;
    private final TruthRun run;
    private final Map<String, Path> copies;
    private final Duration longestWait;
    private final RecordedReport report;

    /**
     * A run; {@link RecordedSource} tells of copies and waits.
     *
     * @param inspector is under test
     * @param image directory of the sandboxes' image
     * @param work a directory of the run's own
     */
    RecordedRun(
            TurnInspector inspector,
            Path image,
            Path work,
            Map<String, Path> copies,
            Duration longestWait,
            RecordedReport report) {
        this.inspector = new TimedInspector(inspector);
        SandboxSpec spec = Arena.spec(image).withMemoryLimit(MEMORY).withPidLimit(PIDS);
        this.run = new TruthRun(this.inspector, spec, work, 0);
        this.copies = Map.copyOf(copies);
        this.longestWait = longestWait;
        this.report = report;
    }

    /** Replays a session. Where that fails, the report tells why, and what came before it counts. */
    void replay(Recording recording) {
        RecordedSource source = new RecordedSource(recording, copies, longestWait);
        long start = System.nanoTime();
        String failure = "";
        try {
            run.run(
                    Ground.Type.BTRFS,
                    source,
                    turn -> report.add(RecordedTurn.of(recording.id(), turn, inspector.nanos())));
        } catch (IOException | UncheckedIOException | CrabException e) {
            failure = "failed: " + CrabException.reason(e);
        }
        report.ended(recording.id(), System.nanoTime() - start, source.fidelity(), source.settled(), failure);
    }
}
