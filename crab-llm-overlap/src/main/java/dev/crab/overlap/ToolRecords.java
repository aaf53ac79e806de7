package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.store.JournalRecord;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What a journal holds of tools, as far as it counts. Guarded by the {@link SessionReplay} it belongs to. */
final class ToolRecords {
    /** The servable result of a tool call. */
    record Result(long sequence, boolean external, ObjectNode body) {
        /** The invocation's key. */
        String invocation() {
            return body.path("key").asText();
        }

        /** The sequence number of the response that asked for it. */
        long response() {
            return body.path("response").asLong(-1);
        }
    }

    private final Map<String, Result> results = new HashMap<>();
    private final Map<String, JournalRecord> begun = new LinkedHashMap<>();
    private final TreeSet<Long> sequences = new TreeSet<>();

    void begun(JournalRecord entry) {
        sequences.add(entry.sequence());
        begun.put(entry.body().path("tool").asText(), entry);
    }

    Result result(JournalRecord entry) {
        sequences.add(entry.sequence());
        Result result =
                new Result(entry.sequence(), entry.body().path("external").asBoolean(), entry.body());
        results.put(entry.body().path("tool").asText(), result);
        return result;
    }

    /** What tools did in the sandbox after a watermark is undone. */
    void undo(long watermark, Consumer<Result> each) {
        results.values().removeIf(result -> {
            boolean isVoid = !result.external && result.sequence > watermark;
            if (isVoid) {
                sequences.remove(result.sequence);
                each.accept(result);
            }
            return isVoid;
        });
    }

    /** Nothing after a watermark counts. */
    void forget(long watermark) {
        sequences.tailSet(watermark, false).clear();
        results.values().removeIf(result -> result.sequence > watermark);
        begun.values().removeIf(entry -> entry.sequence() > watermark);
    }

    /** The first record of a tool after a watermark. */
    long nextAfter(long watermark) {
        Long next = sequences.higher(watermark);
        return next == null ? Long.MAX_VALUE : next;
    }

    /** What tools did outside the sandbox after a watermark, oldest first. */
    List<OutsideEffect> outsideAfter(long watermark) {
        TreeMap<Long, OutsideEffect> outside = new TreeMap<>();
        begun.forEach((tool, entry) -> {
            Result result = results.get(tool);
            if (entry.sequence() > watermark) {
                outside.put(
                        entry.sequence(),
                        new OutsideEffect(
                                entry.body().path("name").asText(),
                                result != null && result.body.path("result") instanceof ObjectNode known
                                        ? known
                                        : null));
            }
        });
        return List.copyOf(outside.values());
    }

    @Nullable
    Result result(String toolKey) {
        return results.get(toolKey);
    }

    Stream<Result> results() {
        return results.values().stream();
    }

    /** Bodies of the results of one response's tools, in the order in which they were recorded. */
    List<ObjectNode> resultsOf(String invocation, long response) {
        return results()
                .filter(result -> result.invocation().equals(invocation) && result.response() == response)
                .sorted(Comparator.comparingLong(Result::sequence))
                .map(Result::body)
                .toList();
    }

    /**
     * Whether tools of that response with an external effect have run.
     *
     * @param endedOnly whether those do not count that have no result
     */
    boolean actedOutside(String invocation, long response, boolean endedOnly) {
        return begun.entrySet().stream()
                .anyMatch(entry -> entry.getValue().sequence() > response
                        && entry.getValue().body().path("key").asText().equals(invocation)
                        && (!endedOnly || results.containsKey(entry.getKey())));
    }

    boolean wasBegun(String toolKey) {
        return begun.containsKey(toolKey);
    }
}
