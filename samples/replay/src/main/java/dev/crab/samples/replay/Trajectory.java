package dev.crab.samples.replay;

import dev.crab.samples.common.Recording;
import dev.crab.samples.common.RecordingFormat;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** A recorded session with the file that holds it. */
record Trajectory(Path file, Recording recording) {
    /** Id of the one that Crab ships which takes the least time. */
    static final String QUICKEST = "look-around";

    /** Those that Crab ships, in the directory {@code trajectories} of this package. */
    private static final List<String> SHIPPED =
            List.of("look-around", "write-report", "counting-repl", "key-value-service");

    /**
     * Those below a directory, by path.
     *
     * @param only glob for their ids
     */
    static List<Trajectory> below(Path directory, String only) throws IOException {
        PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + only);
        List<Trajectory> trajectories = new ArrayList<>();
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".json"))
                    .sorted()
                    .toList()) {
                Recording recording = RecordingFormat.read(file);
                if (matcher.matches(Path.of(recording.id()))) {
                    trajectories.add(new Trajectory(file.toAbsolutePath(), recording));
                }
            }
        }
        return trajectories;
    }

    /** Puts those that Crab ships into a directory. */
    static void unpackShipped(Path directory) throws IOException {
        Files.createDirectories(directory);
        for (String name : SHIPPED) {
            try (InputStream in =
                    Objects.requireNonNull(Trajectory.class.getResourceAsStream("trajectories/" + name + ".json"))) {
                Files.copy(in, directory.resolve(name + ".json"));
            }
        }
    }

    String id() {
        return recording.id();
    }

    int turns() {
        return recording.turns().size();
    }

    /** How long the model takes for the reply behind that turn; for the last one, which is not recorded, as long as on average. */
    Duration wait(int turn) {
        List<Recording.Turn> turns = recording.turns();
        return turn < turns.size()
                ? turns.get(turn).thinking()
                : turns.stream()
                        .map(Recording.Turn::thinking)
                        .reduce(Duration.ZERO, Duration::plus)
                        .dividedBy(Math.max(1, turns.size()));
    }
}
