package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.store.JournalRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What the journal holds of one invocation. Guarded by the {@link SessionReplay} it belongs to. */
final class RecordedInvocation {
    final String key;
    final String call;
    final @Nullable String scope;
    final String memory;
    final long sequence;
    final ObjectNode details;
    final TreeMap<Integer, JournalRecord> responses = new TreeMap<>();
    /** What is to be said before an LLM call, by its number. */
    final TreeMap<Integer, List<String>> notes = new TreeMap<>();

    /** How often the model has gone back in it. */
    int timesBack;

    boolean ended;

    /** The record that says so. */
    long endedAt = -1;

    /** An invocation of this process is working on it. */
    boolean active;

    RecordedInvocation(JournalRecord start) {
        ObjectNode body = start.body();
        key = body.path("key").asText();
        call = body.path("call").asText();
        scope = body.hasNonNull("scope") ? body.path("scope").asText() : null;
        memory = body.path("memory").asText();
        sequence = start.sequence();
        details = body.path("details") instanceof ObjectNode node ? node : body.objectNode();
    }

    /** How many of its responses there were by then. */
    int responsesUntil(long sequence) {
        return (int) responses.values().stream()
                .filter(response -> response.sequence() <= sequence)
                .count();
    }

    /** The model went back in it, and is told so before its next LLM call. */
    void wentBack(String text) {
        timesBack++;
        notes.computeIfAbsent(responses.size() + 1, index -> new ArrayList<>()).add(text);
    }

    void response(JournalRecord record) {
        int index = record.body().path("index").asInt();
        // A response given anew makes those after it answers to a conversation that did not happen.
        responses.tailMap(index, false).clear();
        responses.put(index, record);
    }
}
