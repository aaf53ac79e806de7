package dev.crab.langchain4j;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.InvocationReplay;
import dev.crab.overlap.LongWait;
import dev.crab.overlap.ToolEffect;
import dev.crab.runtime.fault.FaultPoints;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs what may wait for hours, and parks the session meanwhile if it does. */
final class PatientWait {
    private static final Logger LOG = LoggerFactory.getLogger(PatientWait.class);

    private PatientWait() {}

    /**
     * Runs it on this thread.
     *
     * @param replay of the call that waits: refused to go on if the session went back meanwhile
     * @param tool the tool that waits; null if what waits is to become one
     * @param key the tool call's
     * @param patience how long it may take before the session is parked
     */
    static <T> T run(
            SessionEntry entry,
            InvocationReplay replay,
            @Nullable RunningTool tool,
            ToolEffect effect,
            String key,
            Duration patience,
            Supplier<T> work) {
        ObjectNode position = JsonNodeFactory.instance.objectNode().put("waits", key);
        LongWait wait = entry.open()
                .turns()
                .longWait(
                        tool == null ? null : tool.name(),
                        effect,
                        position,
                        () -> !entry.isTainted() && (tool == null || !tool.isSandboxUsed()));
        CountDownLatch over = new CountDownLatch(1);
        Thread parker = new Thread(() -> parkLater(entry, tool, wait, over, patience), "crab-park-" + entry.id());
        parker.setDaemon(true);
        parker.start();
        boolean again = false;
        T answer;
        try {
            answer = work.get();
        } finally {
            over.countDown();
            try {
                wait.end();
                again = true;
            } finally {
                if (!again) {
                    // The sandbox did not come back: it is opened anew, by the rules for damage, when the call is made
                    // again.
                    entry.taint();
                    if (tool != null) {
                        tool.leftTurn();
                    }
                }
            }
        }
        // The sandbox that it comes back to is another one then.
        replay.refuseStale();
        return answer;
    }

    private static void parkLater(
            SessionEntry entry, @Nullable RunningTool tool, LongWait wait, CountDownLatch over, Duration patience) {
        try {
            if (over.await(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                return;
            }
            if (entry.isTainted() || (tool != null && tool.isSandboxUsed())) {
                LOG.warn(
                        "Session {} waits with its sandbox running: {}",
                        entry.id(),
                        tool != null && tool.isSandboxUsed()
                                ? "the tool " + tool.name() + " has used it before, and cannot be saved in its middle"
                                : "a tool's result was not recorded");
                return;
            }
            FaultPoints.reach("park.wanted");
            wait.park();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException e) {
            LOG.warn("Session {} waits with its sandbox running: it could not be parked", entry.id(), e);
        }
    }
}
