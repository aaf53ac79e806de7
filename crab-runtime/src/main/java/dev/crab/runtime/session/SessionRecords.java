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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The runtime's own kinds of journal records, {@code session}, {@code commit} and {@code rollback}, to JSON and back. */
final class SessionRecords {
    static final String SESSION = "session";
    static final String COMMIT = "commit";

    /** The commits after a turn are void from here on. */
    static final String ROLLBACK = "rollback";

    /** Field of a rollback: somebody wanted it. */
    static final String ASKED = "asked";

    /** Of the content of these kinds. */
    static final int VERSION = 1;

    private SessionRecords() {}

    /** A turn that can be gone back to, and the state carried by value then. */
    record Point(Commit commit, Map<String, String> attributes) {}

    /**
     * What a journal says about a session.
     *
     * @param spec what its sandbox is like
     * @param points the turns that count, oldest first
     * @param highestGeneration the highest number that a generation was ever committed under
     */
    record Timeline(SandboxSpec spec, ObjectNode specJson, List<Point> points, long highestGeneration) {
        @Nullable
        Commit last() {
            return points.isEmpty() ? null : points.get(points.size() - 1).commit();
        }

        Map<String, String> attributes() {
            return points.isEmpty() ? Map.of() : points.get(points.size() - 1).attributes();
        }

        /** The generations of the turns that count. */
        Set<Long> generations() {
            return points.stream().map(point -> point.commit().generation()).collect(Collectors.toSet());
        }

        /** The generations of these turns. */
        Set<Long> generations(Set<Long> turns) {
            return points.stream()
                    .map(Point::commit)
                    .filter(commit -> turns.contains(commit.turn()))
                    .map(Commit::generation)
                    .collect(Collectors.toSet());
        }

        /** The same, up to that point. */
        Timeline until(Point point) {
            return until(point.commit().turn());
        }

        /** The same, up to that turn; 0: to before the first. */
        Timeline until(long turn) {
            return new Timeline(spec, specJson, List.copyOf(points.subList(0, (int) turn)), highestGeneration);
        }
    }

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
        List<Point> points = new ArrayList<>();
        Map<String, String> attributes = Map.of();
        long highest = 0;
        for (JournalRecord entry : commits(records)) {
            Commit next = commit(entry);
            if (next.turn() != points.size() + 1) {
                throw corrupt(entry, "it commits turn " + next.turn() + " where " + (points.size() + 1) + " was due");
            }
            attributes = apply(entry, attributes);
            points.add(new Point(next, attributes));
        }
        for (JournalRecord entry : records) {
            if (entry.kind().equals(COMMIT)) {
                highest = Math.max(highest, commit(entry).generation());
            }
        }
        return new Timeline(spec(first, specJson), specJson, List.copyOf(points), highest);
    }

    /** The commit records that no rollback has made void, oldest first. */
    static List<JournalRecord> commits(List<JournalRecord> records) {
        List<JournalRecord> commits = new ArrayList<>();
        for (JournalRecord entry : records) {
            if (entry.kind().equals(COMMIT)) {
                commits.add(entry);
            } else if (entry.kind().equals(ROLLBACK)) {
                checkVersion(entry);
                long turn = number(entry, entry.body(), "turn");
                if (turn < 0 || turn > commits.size()) {
                    throw corrupt(entry, "it goes back to turn " + turn + " of " + commits.size());
                }
                commits.subList((int) turn, commits.size()).clear();
            }
        }
        return commits;
    }

    /** The record of a turn that counts. */
    static JournalRecord commitOf(List<JournalRecord> records, long turn) {
        return commits(records).get((int) turn - 1);
    }

    /** Why the turns after the last one are void, by the newest rollback, if no commit came after it; else none. */
    static List<String> lastReasons(List<JournalRecord> records) {
        List<String> reasons = new ArrayList<>();
        for (JournalRecord entry : records) {
            if (entry.kind().equals(COMMIT) || entry.kind().equals(ROLLBACK)) {
                reasons.clear();
                entry.body().path("reasons").forEach(reason -> reasons.add(reason.asText()));
            }
        }
        return List.copyOf(reasons);
    }

    /** That the turns after one are void because their checkpoints are damaged, and why. */
    static ObjectNode rollback(Commit to, List<String> reasons, long atMillis) {
        ObjectNode body = rollback(to.turn(), to.generation(), atMillis);
        reasons.forEach(body.putArray("reasons")::add);
        return body;
    }

    /** That the turns after one are void because somebody wanted to go back to it: then nothing that came of them counts. */
    static ObjectNode asked(long turn, long generation, String note, long atMillis) {
        return rollback(turn, generation, atMillis).put(ASKED, true).put("note", note);
    }

    private static ObjectNode rollback(long turn, long generation, long atMillis) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        return body.put("version", VERSION)
                .put("turn", turn)
                .put("generation", generation)
                .put("at", atMillis);
    }

    /** The turn that a rollback or a label names. */
    static long turn(JournalRecord entry) {
        checkVersion(entry);
        return number(entry, entry.body(), "turn");
    }

    /** The first record of a session that began where another one was. */
    static ObjectNode branch(JournalRecord opening, String session, String parent, long turn) {
        ObjectNode body = opening.body().deepCopy();
        body.put("session", session);
        body.set("spec", branchSpec(object(opening, body, "spec"), session));
        body.putObject("branch").put("session", parent).put("turn", turn);
        return body;
    }

    /** What the sandbox of a branch is like: as that of its parent, but for its host name. */
    static ObjectNode branchSpec(ObjectNode spec, String session) {
        return spec.deepCopy().put("hostname", CloneHygiene.hostName(session));
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
        try {
            SandboxImage source = switch (kind) {
                case "directory" -> new SandboxImage.Directory(Path.of(text(entry, image, "path")));
                case "tarball" -> new SandboxImage.Tarball(Path.of(text(entry, image, "path")));
                case "debian" -> new SandboxImage.Debian();
                default -> throw corrupt(entry, "image kind " + kind);
            };
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
        List<String> lost = new ArrayList<>();
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

    private static Map<String, String> apply(JournalRecord entry, Map<String, String> before) {
        Map<String, String> attributes = new LinkedHashMap<>(before);
        object(entry, entry.body(), "attributes").properties().forEach(change -> {
            if (change.getValue().isNull()) {
                attributes.remove(change.getKey());
            } else {
                attributes.put(change.getKey(), change.getValue().asText());
            }
        });
        return Map.copyOf(attributes);
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
