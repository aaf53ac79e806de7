package dev.crab.samples.truth;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What became of recorded sessions: the report of their turns, in all and by category, and times. */
final class RecordedReport {
    private static final double MILLI = 1e-6;

    /** One replayed session; {@code failure} is empty where it came to its end. */
    private record Replay(String id, int turns, double seconds, String fidelity, Settled settled, String failure) {}

    private final List<RecordedTurn> turns = new ArrayList<>();
    private final List<Replay> replays = new ArrayList<>();

    void add(RecordedTurn turn) {
        turns.add(turn);
    }

    /**
     * Notes that a session's replay ended.
     *
     * @param fidelity how many commands exited as recorded
     * @param settled how often the memory that a thaw left survivors was taken for the state before a turn
     * @param failure why it ended early; empty where it did not
     */
    void ended(String recording, long nanos, String fidelity, Settled settled, String failure) {
        int count = (int) turns.stream()
                .filter(turn -> turn.recording().equals(recording))
                .count();
        replays.add(new Replay(recording, count, nanos / 1e9, fidelity, settled, failure));
    }

    /** Whether every session came to its end, and no turn was missed. */
    boolean isClean() {
        return report(turns).misses() == 0
                && replays.stream().allMatch(replay -> replay.failure().isEmpty());
    }

    List<String> lines() {
        List<String> lines = new ArrayList<>(report(turns).lines());
        Map<String, List<RecordedTurn>> categories = turns.stream()
                .collect(Collectors.groupingBy(
                        turn -> turn.labelled().category(), TreeMap::new, Collectors.toCollection(ArrayList::new)));
        categories.forEach((category, some) -> {
            lines.add("");
            lines.add("== " + category);
            lines.addAll(report(some).lines());
        });
        lines.add("");
        lines.add(String.format(
                Locale.ROOT,
                "%-32s %7s %7s %10s %10s %10s",
                "judge()",
                "turns",
                "late",
                "median ms",
                "p95 ms",
                "max ms"));
        categories.put("all", turns);
        categories.forEach((category, some) -> lines.add(times(category, some)));
        Settled settled = replays.stream().map(Replay::settled).reduce(Settled.NEVER, Settled::plus);
        lines.add("");
        lines.add("memory that a thaw left a survivor: " + settled.taken()
                + " times taken for the state before a turn, " + settled.refused() + " times not");
        lines.add("");
        lines.add(String.format(Locale.ROOT, "%-48s %6s %8s %10s", "recording", "turns", "seconds", "exits as"));
        for (Replay replay : replays) {
            lines.add(String.format(
                    Locale.ROOT,
                    "%-48s %6d %8.1f %10s %s",
                    replay.id(),
                    replay.turns(),
                    replay.seconds(),
                    replay.fidelity(),
                    replay.failure()));
        }
        return lines;
    }

    void write(Path file) throws IOException {
        ObjectNode root = Json.report(report(turns));
        ArrayNode labelled = (ArrayNode) root.get("turns");
        for (int i = 0; i < turns.size(); i++) {
            RecordedTurn turn = turns.get(i);
            ((ObjectNode) labelled.get(i))
                    .put("recording", turn.recording())
                    .put("late", turn.late())
                    .put("judgeMilliseconds", turn.judgeNanos() * MILLI);
        }
        ArrayNode recordings = root.putArray("recordings");
        for (Replay replay : replays) {
            recordings
                    .addObject()
                    .put("id", replay.id())
                    .put("turns", replay.turns())
                    .put("seconds", replay.seconds())
                    .put("fidelity", replay.fidelity())
                    .put("settled", replay.settled().taken())
                    .put("unsettled", replay.settled().refused())
                    .put("failure", replay.failure());
        }
        Files.writeString(file, root.toPrettyString() + "\n");
    }

    private static Report report(List<RecordedTurn> turns) {
        Report report = new Report();
        turns.forEach(turn -> report.add(turn.labelled()));
        return report;
    }

    private static String times(String name, List<RecordedTurn> some) {
        long[] sorted =
                some.stream().mapToLong(RecordedTurn::judgeNanos).sorted().toArray();
        return String.format(
                Locale.ROOT,
                "%-32s %7d %7d %10.2f %10.2f %10.2f",
                name,
                sorted.length,
                some.stream().filter(RecordedTurn::late).count(),
                quantile(sorted, 0.5),
                quantile(sorted, 0.95),
                quantile(sorted, 1));
    }

    private static double quantile(long[] sorted, double part) {
        return sorted.length == 0 ? 0 : sorted[(int) Math.ceil(part * sorted.length) - 1] * MILLI;
    }
}
