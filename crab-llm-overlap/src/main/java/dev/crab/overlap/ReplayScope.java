package dev.crab.overlap;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * What encloses an invocation and makes its key unique within it: a durable run, or a tool call that calls an AI service itself.
 * Invocations inside a scope are replayed even after they have ended, as long as the scope has not. Thread-safe.
 *
 * <p>One object stands for one pass through the scope in one process; equal calls are told apart by their order in it. One that failed, or
 * that a rollback made void, leaves its place to the next equal one, which takes it up.
 */
public final class ReplayScope {
    private static final String TOOL = "tool:";

    private final String id;
    private final Map<String, Places> places = new HashMap<>();

    /** The places of equal calls: those from 1 on that were given so far, but for the free ones. */
    private static final class Places {
        private final TreeSet<Integer> free = new TreeSet<>();
        private int given;
        private long epoch;
    }

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

    /**
     * The first free place.
     *
     * @param epoch of the session: after a rollback, places of calls that it no longer knows are free
     */
    synchronized int take(String call, long epoch, IntPredicate isKnown) {
        Places of = places.computeIfAbsent(call, any -> new Places());
        if (of.epoch != epoch) {
            of.epoch = epoch;
            for (int place = 1; place <= of.given; place++) {
                if (!isKnown.test(place)) {
                    of.free.add(place);
                }
            }
        }
        Integer free = of.free.pollFirst();
        return free == null ? ++of.given : free;
    }

    /** A call has failed: made again, it finds its place. */
    synchronized void giveBack(String call, int place) {
        Places of = places.get(call);
        if (of != null) {
            of.free.add(place);
        }
    }
}
