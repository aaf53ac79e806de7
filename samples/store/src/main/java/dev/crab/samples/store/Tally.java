package dev.crab.samples.store;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What the points of a row came to. Thread-safe. */
final class Tally {
    private final String row;
    private final String command;
    private int points;
    private int whole;
    private final Map<String, Integer> refused = new TreeMap<>();
    private final Map<String, Integer> seen = new TreeMap<>();
    private final List<String> mixes = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();

    /**
     * Nothing yet.
     *
     * @param command by which the row is run
     */
    Tally(String row, String command) {
        this.row = row;
        this.command = command;
    }

    /** As {@link #json} gave it. */
    static Tally of(JsonNode json) {
        Tally tally = new Tally(json.path("row").asText(), json.path("command").asText());
        tally.points = json.path("points").asInt();
        tally.whole = json.path("whole").asInt();
        json.path("refused")
                .properties()
                .forEach(
                        code -> tally.refused.put(code.getKey(), code.getValue().asInt()));
        json.path("seen")
                .properties()
                .forEach(code -> tally.seen.put(code.getKey(), code.getValue().asInt()));
        json.path("mixes").forEach(mix -> tally.mixes.add(mix.asText()));
        json.path("notes").forEach(note -> tally.notes.add(note.asText()));
        return tally;
    }

    /** All of it. */
    synchronized Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("row", row);
        json.put("command", command);
        json.put("points", points);
        json.put("whole", whole);
        json.put("refused", refused());
        json.put("mixes", mixes());
        json.put("seen", seen());
        json.put("notes", notes());
        return json;
    }

    synchronized void add(String point, Verdict verdict) {
        points++;
        switch (verdict.kind()) {
            case WHOLE -> whole++;
            case REFUSED -> refused.merge(verdict.detail(), 1, Integer::sum);
            case MIX -> mixes.add(point + ": " + verdict.detail());
        }
    }

    /** Counts a code that the running victim was refused with. */
    synchronized void saw(String code) {
        seen.merge(code, 1, Integer::sum);
    }

    /** How the points were chosen, or what could not be reached. */
    synchronized void note(String note) {
        notes.add(note);
    }

    String row() {
        return row;
    }

    String command() {
        return command;
    }

    synchronized int points() {
        return points;
    }

    synchronized int whole() {
        return whole;
    }

    synchronized Map<String, Integer> refused() {
        return new TreeMap<>(refused);
    }

    synchronized Map<String, Integer> seen() {
        return new TreeMap<>(seen);
    }

    synchronized List<String> mixes() {
        return List.copyOf(mixes);
    }

    synchronized List<String> notes() {
        return List.copyOf(notes);
    }

    /** One line: what held, of how many. */
    String line() {
        int held = points() - mixes().size();
        return "%-7s %d of %d: %d whole, %d refused %s, %d mixes"
                .formatted(row, held, points(), whole(), held - whole(), refused(), mixes().size());
    }
}
