package dev.crab.samples.truth;

import dev.crab.runtime.inspector.Effect;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The recovery-relevant state of a frozen sandbox as the oracle printed it: lines by key, where the first word of a key says what the line
 * is about ({@code file}, {@code process}, {@code ipc}, {@code mount}, {@code host}). Immutable.
 */
record SystemState(Map<String, String> lines) {
    private static final Pattern MEMORY = Pattern.compile("process \\d+ memory \\p{XDigit}+");

    SystemState {
        lines = Map.copyOf(lines);
    }

    /** What must be saved because of the differences from an earlier state to this one. */
    Truth since(SystemState earlier) {
        List<String> evidence = new ArrayList<>();
        boolean files = false;
        boolean processes = false;
        for (String key : differing(earlier)) {
            files |= key.startsWith("file ");
            processes |= !key.startsWith("file ");
            evidence.add(key + ": " + earlier.lines.getOrDefault(key, "nothing") + " -> "
                    + lines.getOrDefault(key, "nothing"));
        }
        return new Truth(Effect.of(files, processes), evidence);
    }

    /** This state, but for what is in those mappings of processes that exist in both: that is as it was later. */
    SystemState withMemoryOf(SystemState later) {
        Map<String, String> mixed = new HashMap<>(lines);
        mixed.replaceAll((key, value) -> MEMORY.matcher(key).matches() ? later.lines.getOrDefault(key, value) : value);
        return new SystemState(mixed);
    }

    private Iterable<String> differing(SystemState earlier) {
        Map<String, Boolean> keys = new TreeMap<>();
        lines.forEach((key, value) -> {
            if (!value.equals(earlier.lines.get(key))) {
                keys.put(key, true);
            }
        });
        earlier.lines.keySet().forEach(key -> {
            if (!lines.containsKey(key)) {
                keys.put(key, true);
            }
        });
        return keys.keySet();
    }
}
