package dev.crab.samples.common;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Reads recorded sessions from JSON. Fields that docs/labelled-turns.md does not name are not looked at. */
public final class RecordingFormat {
    private static final ObjectMapper JSON = new ObjectMapper();

    private RecordingFormat() {}

    /**
     * The recordings below a directory, by path.
     *
     * @param only glob for the recordings' ids
     */
    public static List<Recording> below(Path directory, String only) throws IOException {
        PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + only);
        List<Recording> recordings = new ArrayList<>();
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".json"))
                    .sorted()
                    .toList()) {
                Recording recording = read(file);
                if (matcher.matches(Path.of(recording.id()))) {
                    recordings.add(recording);
                }
            }
        }
        return recordings;
    }

    public static Recording read(Path file) throws IOException {
        try {
            return recording(JSON.readTree(file.toFile()));
        } catch (IllegalArgumentException e) {
            throw new IOException(file + " is not a recorded session: " + e.getMessage(), e);
        }
    }

    private static Recording recording(JsonNode root) {
        List<String> setup = new ArrayList<>();
        required(root, "setup").forEach(line -> setup.add(line.asText()));
        return new Recording(
                text(root, "id"),
                text(root, "category"),
                shell(text(root, "shell")),
                text(root, "cwd"),
                Duration.ofMillis(Math.round(1000 * required(root, "timeout_s").asDouble())),
                setup,
                turns(required(root, "turns")),
                root.path("probe").textValue(),
                root.path("expect_regex").textValue());
    }

    private static List<Recording.Turn> turns(JsonNode entries) {
        List<Recording.Turn> turns = new ArrayList<>();
        for (JsonNode entry : entries) {
            Recording.Call call = call(entry);
            if (entry.path("parallel_index").asInt() > 0 && !turns.isEmpty()) {
                Recording.Turn reply = turns.remove(turns.size() - 1);
                List<Recording.Call> calls = new ArrayList<>(reply.calls());
                calls.add(call);
                turns.add(new Recording.Turn(reply.thinking(), calls));
            } else {
                Duration thinking = Duration.ofMillis(required(entry, "llm_ms").asLong());
                turns.add(new Recording.Turn(thinking, List.of(call)));
            }
        }
        return turns;
    }

    private static Recording.Call call(JsonNode entry) {
        String tool = text(entry, "tool");
        return switch (tool) {
            case "bash" ->
                new Recording.Command(
                        text(entry, "command"),
                        entry.hasNonNull("recorded_rc")
                                ? Integer.valueOf(entry.get("recorded_rc").asInt())
                                : null);
            case "edit" -> edit(required(entry, "args"));
            default -> throw new IllegalArgumentException("no tool is named " + tool);
        };
    }

    private static Recording.Edit edit(JsonNode arguments) {
        String command = text(arguments, "command");
        String path = text(arguments, "path");
        return switch (command) {
            case "create" -> new Recording.Create(path, text(arguments, "file_text"));
            case "view" -> new Recording.View(path);
            case "str_replace" ->
                new Recording.Replace(
                        path,
                        text(arguments, "old_str"),
                        arguments.path("new_str").asText(""));
            case "insert" ->
                new Recording.Insert(path, required(arguments, "insert_line").asInt(), text(arguments, "new_str"));
            default -> throw new IllegalArgumentException("no edit is named " + command);
        };
    }

    private static Recording.Shell shell(String label) {
        for (Recording.Shell shell : Recording.Shell.values()) {
            if (shell.label().equals(label)) {
                return shell;
            }
        }
        throw new IllegalArgumentException("no shell is named " + label);
    }

    private static String text(JsonNode node, String field) {
        JsonNode value = required(node, field);
        if (!value.isTextual()) {
            throw new IllegalArgumentException(field + " is no text");
        }
        return value.asText();
    }

    private static JsonNode required(JsonNode node, String field) {
        JsonNode value = node.get(field);
        if (value == null || value.isNull()) {
            throw new IllegalArgumentException(field + " is missing");
        }
        return value;
    }
}
