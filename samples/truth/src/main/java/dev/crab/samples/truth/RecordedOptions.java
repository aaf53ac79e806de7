package dev.crab.samples.truth;

import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.samples.common.Recording;
import dev.crab.samples.common.RecordingFormat;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code ./crab prove inspector} that replay recorded sessions in place of its own turns. */
final class RecordedOptions {
    @Option(
            names = "--recorded",
            paramLabel = "DIR",
            description = "Replay the recorded sessions below this directory, and nothing else.")
    private @Nullable Path recorded;

    @Option(
            names = "--image",
            paramLabel = "ROOTFS",
            description = "With --recorded: the sandboxes' root file system (default: Crab's own image).")
    private @Nullable Path image;

    @Option(
            names = "--only",
            paramLabel = "GLOB",
            defaultValue = "*",
            description = "With --recorded: only sessions with such an id.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String only;

    @Option(
            names = "--wait",
            paramLabel = "MS",
            defaultValue = "200",
            description = "With --recorded: the longest wait between two turns, in ms (default: ${DEFAULT-VALUE}).")
    private int wait;

    @Option(
            names = "--copy",
            paramLabel = "TO=FROM",
            description = "With --recorded: put the files of directory FROM into the sandbox's directory TO first.")
    private Map<String, Path> copies = Map.of();

    boolean given() {
        return recorded != null;
    }

    /**
     * Replays what the options name, and reports.
     *
     * @param ownImage the image where none is named
     * @param json where every turn is written, too
     * @return the command's exit code
     */
    int run(TurnInspector inspector, Path ownImage, Path work, @Nullable Path json, PrintStream out, PrintStream err)
            throws IOException {
        List<Recording> recordings = RecordingFormat.below(Objects.requireNonNull(recorded), only);
        if (recordings.isEmpty()) {
            throw new IOException("no recorded session below " + recorded + " is named " + only);
        }
        RecordedReport report = new RecordedReport();
        RecordedRun run = new RecordedRun(
                inspector, image == null ? ownImage : image, work, copies, Duration.ofMillis(wait), report);
        for (Recording recording : recordings) {
            err.println(recording.id() + ": " + recording.turns().size() + " turns");
            run.replay(recording);
        }
        report.lines().forEach(out::println);
        if (json != null) {
            report.write(json);
        }
        return report.isClean() ? 0 : 1;
    }
}
