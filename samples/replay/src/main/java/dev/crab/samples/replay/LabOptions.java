package dev.crab.samples.replay;

import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** What is replayed, in what, and how fast: options of all measurements here. */
final class LabOptions {
    @Option(
            names = "--corpus",
            paramLabel = "DIR",
            description = "Trajectories below this directory. Default: the few that Crab ships.")
    private @Nullable Path corpus;

    @Option(
            names = "--only",
            paramLabel = "GLOB",
            defaultValue = "*",
            description = "Only trajectories with such an id.")
    @SuppressWarnings("NullAway.Init") // set by picocli
    private String only;

    @Option(
            names = "--speed",
            paramLabel = "X",
            defaultValue = "1",
            description = "Divides the recorded waits for the model. Default: ${DEFAULT-VALUE}.")
    private double speed;

    @Option(
            names = "--image",
            paramLabel = "ROOTFS",
            description = "The sandboxes' root file system. Default: Crab's own image.")
    private @Nullable Path image;

    @Option(
            names = "--copy",
            paramLabel = "TO=FROM",
            description = "Put the files of directory FROM into the sandbox's directory TO before a set-up.")
    private Map<String, Path> copies = new LinkedHashMap<>();

    /** Carries out a measurement's command line; answers with the exit code. What names nothing that there is takes one line. */
    static int execute(Object command, PrintStream out, PrintStream err, String... arguments) {
        return new CommandLine(command)
                .setOut(new PrintWriter(out, true, StandardCharsets.UTF_8))
                .setErr(new PrintWriter(err, true, StandardCharsets.UTF_8))
                .setExecutionExceptionHandler((failure, commandLine, parsed) -> {
                    boolean misuse = failure instanceof IllegalArgumentException;
                    err.println("bench: " + (misuse ? failure.getMessage() : failure.toString()));
                    return misuse ? 2 : 1;
                })
                .execute(arguments);
    }

    double speed() {
        return speed;
    }

    /** A second as it was recorded, by which agents of one JVM begin after each other. */
    long staggerMillis() {
        return Math.round(1000 / speed);
    }

    Lab lab(PrintStream err) throws IOException {
        if (!(speed > 0)) {
            throw new IllegalArgumentException("--speed above 0");
        }
        return new Lab(image, copies, speed, err);
    }

    /** What the options name; at least one. */
    List<Trajectory> trajectories(Lab lab) throws IOException {
        List<Trajectory> trajectories = Trajectory.below(corpus == null ? lab.shipped() : corpus, only);
        if (trajectories.isEmpty()) {
            throw new IllegalArgumentException("no trajectory " + (corpus == null ? "of Crab's own" : "below " + corpus)
                    + " has an id like " + only);
        }
        return trajectories;
    }
}
