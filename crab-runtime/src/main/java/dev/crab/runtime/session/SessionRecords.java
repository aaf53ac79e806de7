package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.store.JournalRecord;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The runtime's own kinds of journal records, {@code session} and {@code commit}, to JSON and back. */
final class SessionRecords {
    static final String SESSION = "session";
    static final String COMMIT = "commit";

    /** Of the content of these two kinds. */
    static final int VERSION = 1;

    private SessionRecords() {}

    /** What a journal says about a session: what its sandbox is like, its newest commit, and the state carried by value then. */
    record Timeline(
            SandboxSpec spec, ObjectNode specJson, @Nullable Commit last, Map<String, String> attributes) {}

    /** Folds a journal; null if it does not even say what the sandbox is like, which is so only if no session was ever opened. */
    static @Nullable Timeline timeline(String session, List<JournalRecord> records) {
        if (records.isEmpty()) {
            return null;
        }
        JournalRecord first = records.get(0);
        if (!first.kind().equals(SESSION)
                || !text(first, first.body(), "session").equals(session)) {
            throw corrupt(first, "it does not open session " + session);
        }
        checkVersion(first);
        ObjectNode specJson = object(first, first.body(), "spec");
        Commit last = null;
        Map<String, String> attributes = new LinkedHashMap<>();
        for (JournalRecord entry : records) {
            if (entry.kind().equals(COMMIT)) {
                Commit next = commit(entry);
                long expected = last == null ? 1 : last.turn() + 1;
                if (next.turn() != expected) {
                    throw corrupt(entry, "it commits turn " + next.turn() + " where " + expected + " was due");
                }
                last = next;
                apply(entry, attributes);
            }
        }
        return new Timeline(spec(first, specJson), specJson, last, Map.copyOf(attributes));
    }

    static ObjectNode opening(String session, SandboxSpec spec) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        body.put("version", VERSION).put("session", session).set("spec", toJson(spec));
        return body;
    }

    static ObjectNode toJson(SandboxSpec spec) {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        ObjectNode image = json.putObject("image");
        if (spec.image() instanceof SandboxImage.Directory directory) {
            image.put("kind", "directory").put("path", directory.path().toString());
        } else if (spec.image() instanceof SandboxImage.Tarball tarball) {
            image.put("kind", "tarball").put("path", tarball.path().toString());
        } else {
            image.put("kind", "debian");
        }
        return json.put("memoryLimit", spec.memoryLimit())
                .put("pidLimit", spec.pidLimit())
                .put("hostname", spec.hostname());
    }

    private static SandboxSpec spec(JournalRecord entry, ObjectNode json) {
        ObjectNode image = object(entry, json, "image");
        String kind = text(entry, image, "kind");
        SandboxImage source = switch (kind) {
            case "directory" -> new SandboxImage.Directory(Path.of(text(entry, image, "path")));
            case "tarball" -> new SandboxImage.Tarball(Path.of(text(entry, image, "path")));
            case "debian" -> new SandboxImage.Debian();
            default -> throw corrupt(entry, "image kind " + kind);
        };
        try {
            return new SandboxSpec(
                    source,
                    number(entry, json, "memoryLimit"),
                    Math.toIntExact(number(entry, json, "pidLimit")),
                    text(entry, json, "hostname"));
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw corrupt(entry, String.valueOf(e.getMessage()));
        }
    }

    /** What a commit record holds beside the commit itself; for the report, recovery does not read it. */
    record Details(
            TurnOutcome.Saved saved,
            List<String> lost,
            long captureNanos,
            long freezeNanos,
            long bytes,
            long atMillis) {}

    static ObjectNode toJson(Commit commit, Map<String, String> before, Map<String, String> now, Details details) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        body.put("version", VERSION)
                .put("turn", commit.turn())
                .put("generation", commit.generation())
                .put("processGeneration", commit.processGeneration())
                .put("fileGeneration", commit.fileGeneration())
                .put("effect", commit.effect().name())
                .put("saved", details.saved().name())
                .put("captureNanos", details.captureNanos())
                .put("freezeNanos", details.freezeNanos())
                .put("bytes", details.bytes())
                .put("at", details.atMillis());
        ObjectNode changed = body.putObject("attributes");
        new TreeMap<>(now).forEach((name, value) -> {
            if (!value.equals(before.get(name))) {
                changed.put(name, value);
            }
        });
        for (String name : before.keySet()) {
            if (!now.containsKey(name)) {
                changed.putNull(name);
            }
        }
        if (!details.lost().isEmpty()) {
            details.lost().forEach(body.putArray("lost")::add);
        }
        body.set("position", commit.position());
        return body;
    }

    static Commit commit(JournalRecord entry) {
        checkVersion(entry);
        ObjectNode body = entry.body();
        try {
            Commit commit = new Commit(
                    number(entry, body, "turn"),
                    number(entry, body, "generation"),
                    number(entry, body, "processGeneration"),
                    number(entry, body, "fileGeneration"),
                    Effect.valueOf(text(entry, body, "effect")),
                    object(entry, body, "position"));
            if (commit.generation() < 0
                    || commit.processGeneration() > commit.generation()
                    || commit.fileGeneration() > commit.generation()) {
                throw corrupt(entry, "its generations contradict each other");
            }
            return commit;
        } catch (IllegalArgumentException e) {
            throw corrupt(entry, String.valueOf(e.getMessage()));
        }
    }

    static Details details(JournalRecord entry) {
        ObjectNode body = entry.body();
        List<String> lost = new java.util.ArrayList<>();
        body.path("lost").forEach(item -> lost.add(item.asText()));
        try {
            return new Details(
                    TurnOutcome.Saved.valueOf(text(entry, body, "saved")),
                    List.copyOf(lost),
                    number(entry, body, "captureNanos"),
                    number(entry, body, "freezeNanos"),
                    number(entry, body, "bytes"),
                    number(entry, body, "at"));
        } catch (IllegalArgumentException e) {
            throw corrupt(entry, String.valueOf(e.getMessage()));
        }
    }

    private static void apply(JournalRecord entry, Map<String, String> attributes) {
        object(entry, entry.body(), "attributes").properties().forEach(change -> {
            if (change.getValue().isNull()) {
                attributes.remove(change.getKey());
            } else {
                attributes.put(change.getKey(), change.getValue().asText());
            }
        });
    }

    private static void checkVersion(JournalRecord entry) {
        long version = number(entry, entry.body(), "version");
        if (version != VERSION) {
            throw CrabException.of(
                    ErrorCode.FORMAT_UNKNOWN,
                    "record " + entry.sequence() + " of the journal cannot be read",
                    "its content has version " + version + ", and this Crab knows " + VERSION,
                    "use the Crab that wrote it, or a newer one");
        }
    }

    private static long number(JournalRecord entry, ObjectNode json, String field) {
        JsonNode value = json.path(field);
        if (!value.isIntegralNumber() || !value.canConvertToLong()) {
            throw corrupt(entry, "no number " + field);
        }
        return value.longValue();
    }

    private static String text(JournalRecord entry, ObjectNode json, String field) {
        JsonNode value = json.path(field);
        if (!value.isTextual()) {
            throw corrupt(entry, "no text " + field);
        }
        return value.textValue();
    }

    private static ObjectNode object(JournalRecord entry, ObjectNode json, String field) {
        if (json.path(field) instanceof ObjectNode value) {
            return value;
        }
        throw corrupt(entry, "no object " + field);
    }

    private static CrabException corrupt(JournalRecord entry, String why) {
        return CrabException.of(
                ErrorCode.JOURNAL_CORRUPT,
                "the journal cannot be trusted",
                "record " + entry.sequence() + " (" + entry.kind() + ") holds its checksum, but not its form: " + why,
                "bring the journal back from a backup");
    }
}
