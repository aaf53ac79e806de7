package dev.crab.overlap;

import dev.crab.runtime.store.JournalRecord;
import java.util.Map;
import java.util.SortedMap;

/**
 * Where an invocation has to go back to, to undo its responses from one on; a view of what the {@link SessionReplay} it belongs to holds, and
 * guarded by that.
 *
 * @param watermarks of the turns that count
 */
record WaysBack(Map<String, RecordedInvocation> invocations, ToolRecords tools, SortedMap<Long, Long> watermarks) {
    InvocationReplay.WayBack of(RecordedInvocation of, int response) {
        JournalRecord first = of.responses.get(response);
        long undone = first == null ? Long.MAX_VALUE : first.sequence();
        long turn = 0;
        for (Map.Entry<Long, Long> one : watermarks.entrySet()) {
            if (one.getValue() >= undone) {
                break;
            }
            if (!endsInTheMiddle(of, one.getValue())) {
                turn = one.getKey();
            }
        }
        long watermark = watermarks.getOrDefault(turn, -1L);
        return new InvocationReplay.WayBack(turn, of.responsesUntil(watermark) + 1, isShared(of, watermark));
    }

    /** Whether a response is asked for, and not all its tools have run, at a watermark. */
    private boolean endsInTheMiddle(RecordedInvocation of, long watermark) {
        return tools.results()
                .anyMatch(result -> result.invocation().equals(of.key)
                        && result.response() <= watermark
                        && result.sequence() > watermark);
    }

    /** Whether others are under way, or lose something that came after a watermark. */
    private boolean isShared(RecordedInvocation by, long watermark) {
        long next = tools.nextAfter(watermark);
        return invocations.values().stream()
                        .anyMatch(other ->
                                (other.active || (other.ended && other.endedAt >= next)) && !isWithin(other, by))
                || tools.results()
                        .filter(result -> result.sequence() > watermark)
                        .map(result -> invocations.get(result.invocation()))
                        .anyMatch(other -> other != null && !isWithin(other, by));
    }

    /** Whether it is that invocation, or was called by a tool of it. */
    private boolean isWithin(RecordedInvocation inner, RecordedInvocation outer) {
        RecordedInvocation at = inner;
        while (at != null && at != outer) {
            String tool = at.scope == null ? null : ReplayScope.toolOf(at.scope);
            ToolRecords.Result result = tool == null ? null : tools.result(tool);
            at = result == null ? null : invocations.get(result.invocation());
        }
        return at == outer;
    }
}
