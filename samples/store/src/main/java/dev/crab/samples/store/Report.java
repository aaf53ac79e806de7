package dev.crab.samples.store;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a run came to, for people and for programs.
 *
 * @param seed as it was used
 * @param tallies a row each
 */
record Report(long seed, List<Tally> tallies) {
    private static final Map<String, String> MEANINGS = meanings();

    private static Map<String, String> meanings() {
        Map<String, String> meanings = new LinkedHashMap<>();
        meanings.put("kill", "SIGKILL of the JVM at a fault point");
        meanings.put(
                "power",
                "power cut at an operation on the store's files: what was not flushed is undone, wholly, in part, or torn");
        meanings.put("block", "power cut below the file system: what the disk has got at a fault point, btrfs and all");
        meanings.put("enospc", "an operation fails for want of space, once or until the first refusal");
        meanings.put("eio", "the same, with an input/output error");
        meanings.put("flip", "one flipped bit in a file of the store");
        meanings.put("two", "a second JVM opens the session again and again");
        meanings.put("clock", "the clock jumps a year back and forth, then SIGKILL");
        meanings.put("gc", "a second JVM collects garbage in a loop beside captures, retention and restores");
        return meanings;
    }

    /** Names of the rows, in their order. */
    static List<String> rows() {
        return List.copyOf(MEANINGS.keySet());
    }

    boolean holds() {
        return tallies.stream().allMatch(tally -> tally.mixes().isEmpty() && tally.points() > 0);
    }

    /** The rows without a mix that an earlier run has written, if it had the same seed and machine. */
    static List<Tally> done(Path file, long seed) throws IOException {
        List<Tally> done = new ArrayList<>();
        if (Files.exists(file)) {
            JsonNode all = new ObjectMapper().readTree(file.toFile());
            if (all.path("seed").asLong() != seed
                    || !all.path("machine").asText().equals(machine())) {
                throw new IOException(file + " is of a run with another seed or on another machine");
            }
            all.path("rows").forEach(row -> done.add(Tally.of(row)));
            done.removeIf(tally -> !tally.mixes().isEmpty());
        }
        return done;
    }

    void json(Path file) throws IOException {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("seed", seed);
        all.put("machine", machine());
        all.put("rows", tallies.stream().map(Tally::json).toList());
        new ObjectMapper().writerWithDefaultPrettyPrinter().writeValue(file.toFile(), all);
    }

    void markdown(Path file) throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add("# Crash matrix of the store");
        lines.add("");
        lines.add("A session of " + Script.TURNS
                + " turns of every kind is hit at one point by one fault; then it is opened again and compared with");
        lines.add(
                "what was committed: files, a count and pages in a process's memory, its pid, values carried, the position. Each point is a run of");
        lines.add(
                "its own. *Whole*: all of that is of the last acknowledged turn, or of the one whose record had become durable; it comes back a second");
        lines.add(
                "time, and the session goes on to its end. *Refused*: a typed exception. *Mix*: anything else, and the command fails.");
        lines.add("");
        lines.add("| row | fault | points | whole | refused | mixes |");
        lines.add("|---|---|---|---|---|---|");
        for (Tally tally : tallies) {
            lines.add("| `" + tally.row() + "` | " + MEANINGS.get(tally.row()) + " | " + tally.points() + " | "
                    + tally.whole() + " | " + codes(tally.refused()) + " | "
                    + tally.mixes().size() + " |");
        }
        lines.add("");
        for (Tally tally : tallies) {
            for (String note : tally.notes()) {
                lines.add("- `" + tally.row() + "`: " + note);
            }
            if (!tally.seen().isEmpty()) {
                lines.add("- `" + tally.row() + "`: what running programs were refused with: " + codes(tally.seen()));
            }
            tally.mixes().forEach(mix -> lines.add("- `" + tally.row() + "`: **mix** at " + mix));
        }
        lines.add("");
        Map<String, List<String>> commands = new LinkedHashMap<>();
        for (Tally tally : tallies) {
            commands.computeIfAbsent(tally.command(), command -> new ArrayList<>())
                    .add("`" + tally.row() + "`");
        }
        commands.forEach((command, rows) -> lines.add("- " + String.join(", ", rows) + ": `" + command + "`"));
        lines.add("");
        lines.add("Seed " + seed + ", " + LocalDate.now(ZoneOffset.UTC) + ", " + machine() + ".");
        Files.writeString(file, String.join("\n", lines) + "\n", StandardCharsets.UTF_8);
    }

    private static String codes(Map<String, Integer> codes) {
        List<String> words = new ArrayList<>();
        codes.forEach((code, count) -> words.add(count + " `" + code + "`"));
        return words.isEmpty() ? "0" : String.join(", ", words);
    }

    private static String machine() throws IOException {
        String processor = Files.readAllLines(Path.of("/proc/cpuinfo"), StandardCharsets.UTF_8).stream()
                .filter(line -> line.startsWith("model name"))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst()
                .orElse("unknown processor");
        return processor + ", " + Runtime.getRuntime().availableProcessors() + " cores, Linux "
                + System.getProperty("os.version").replaceAll("-.*", "");
    }
}
