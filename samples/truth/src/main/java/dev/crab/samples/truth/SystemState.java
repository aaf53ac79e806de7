package dev.crab.samples.truth;

import dev.crab.runtime.inspector.Effect;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The recovery-relevant state of a frozen sandbox as the oracle printed it: lines by key, where the first word of a key says what the line
 * is about ({@code file}, {@code process}, {@code ipc}, {@code mount}, {@code host}). Immutable.
 */
record SystemState(Map<String, String> lines) {
    private static final Pattern MEMORY = Pattern.compile("process (\\d+) memory \\p{XDigit}+");
    private static final Pattern PROCESS = Pattern.compile("process (\\d+)\\b");

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

    /**
     * The processes that differ from an earlier state in what is in their mappings.
     *
     * @param alone only those that differ in nothing else
     */
    Set<Integer> memoryChanged(SystemState earlier, boolean alone) {
        Set<Integer> changed = new HashSet<>();
        Set<Integer> otherwise = new HashSet<>();
        for (String key : differing(earlier)) {
            Matcher process = PROCESS.matcher(key);
            if (process.lookingAt()) {
                (MEMORY.matcher(key).matches() ? changed : otherwise).add(Integer.valueOf(process.group(1)));
            }
        }
        if (alone) {
            changed.removeAll(otherwise);
        }
        return changed;
    }

    /** This state, but for what is in the mappings of those processes: that is as it was later. */
    SystemState withMemoryOf(SystemState later, Set<Integer> processes) {
        Map<String, String> mixed = new HashMap<>(lines);
        mixed.replaceAll((key, value) -> {
            Matcher memory = MEMORY.matcher(key);
            return memory.matches() && processes.contains(Integer.valueOf(memory.group(1)))
                    ? later.lines.getOrDefault(key, value)
                    : value;
        });
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
