package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.samples.common.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Everything that was found, and what it comes to. Not thread-safe. */
final class Results {
    /** Stands for all categories. */
    static final String ALL = "all";

    private final List<String> policies;
    private final Map<String, Object> circumstances = new LinkedHashMap<>();
    private final List<Measured> measured = new ArrayList<>();
    private final List<Crash> crashes = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private final List<String> refusals = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();

    /** None yet, with the policies in the order in which they are told of. */
    Results(List<String> policies) {
        this.policies = List.copyOf(policies);
    }

    /** Something that holds for all of it, as the speed. */
    void circumstance(String name, Object value) {
        circumstances.put(name, value);
    }

    void addMeasured(List<Measured> more) {
        measured.addAll(more);
    }

    void addCrashes(List<Crash> more) {
        crashes.addAll(more);
    }

    void note(String line) {
        notes.add(line);
    }

    /** A run that ended because a turn of it could not be saved, with the reason; what it was before that counts. */
    void refused(String line) {
        refusals.add(line);
    }

    /** A run that did not come to its end, and is in no figure. */
    void failed(String line) {
        failures.add(line);
    }

    /** Whether every run came to its end and Crab, where it was looked at, came back right from every crash. */
    boolean isClean() {
        return failures.isEmpty()
                && refusals.isEmpty()
                && crashes.stream().allMatch(crash -> !crash.policy().equals(Policies.CRAB) || crash.correct());
    }

    /** All of it; {@code docs/replay.md} says what the fields mean. */
    ObjectNode json() {
        ObjectNode root = Json.object();
        root.put("format", 1);
        root.set("circumstances", Json.tree(circumstances));
        ArrayNode summaries = root.putArray("summaries");
        TreeSet<String> categories = new TreeSet<>();
        measured.forEach(one -> categories.add(one.category()));
        crashes.forEach(one -> categories.add(one.category()));
        for (String policy : policies) {
            summaries.add(summary(policy, ALL));
            categories.forEach(category -> summaries.add(summary(policy, category)));
        }
        root.set("notes", Json.tree(notes));
        root.set("refusals", Json.tree(refusals));
        root.set("failures", Json.tree(failures));
        root.set("measured", Json.tree(measured));
        ArrayNode list = root.putArray("crashes");
        crashes.forEach(crash -> list.add(((ObjectNode) Json.tree(crash)).put("correct", crash.correct())));
        return root;
    }

    private ObjectNode summary(String policy, String category) {
        ObjectNode node = Json.object().put("policy", policy).put("category", category);
        Summary.crashes(
                node,
                crashes.stream()
                        .filter(crash -> crash.policy().equals(policy) && in(category, crash.category()))
                        .toList());
        Summary.measured(
                node,
                of(policy, category),
                policy.equals(Policies.FULL) ? List.of() : of(Policies.FULL, category),
                policy.equals(Policies.NONE) ? List.of() : of(Policies.NONE, category));
        return node;
    }

    private List<Measured> of(String policy, String category) {
        return measured.stream()
                .filter(one -> one.policy().equals(policy) && in(category, one.category()))
                .toList();
    }

    private static boolean in(String category, String actual) {
        return category.equals(ALL) || category.equals(actual);
    }
}
