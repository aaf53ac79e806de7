package dev.crab.overlap;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What encloses an invocation and makes its key unique within it: a durable run, or a tool call that calls an AI service itself.
 * Invocations inside a scope are replayed even after they have ended, as long as the scope has not. Thread-safe.
 *
 * <p>One object stands for one pass through the scope in one process; equal calls are told apart by their order in it.
 */
public final class ReplayScope {
    private static final String TOOL = "tool:";

    private final String id;
    private final Map<String, Integer> occurrences = new HashMap<>();

    private ReplayScope(String id) {
        this.id = id;
    }

    /** A pass through the durable run of that name. */
    public static ReplayScope run(String runId) {
        return new ReplayScope("run:" + runId);
    }

    /** A pass through the tool call of that key. */
    public static ReplayScope tool(String toolKey) {
        return new ReplayScope(TOOL + toolKey);
    }

    /** The key of the tool call that a scope of that identity is; null if it is none. */
    static @Nullable String toolOf(String id) {
        return id.startsWith(TOOL) ? id.substring(TOOL.length()) : null;
    }

    String id() {
        return id;
    }

    synchronized int next(String call) {
        return occurrences.merge(call, 1, Integer::sum);
    }
}
