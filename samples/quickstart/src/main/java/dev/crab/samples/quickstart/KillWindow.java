package dev.crab.samples.quickstart;

import dev.crab.runtime.fault.FaultPoints;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A fault point that lies while a command runs in the sandbox, which no point in the code of either side can be: another thread reaches it
 * shortly after the {@linkplain Script#LONG_COMMAND long command} of the script was sent.
 */
final class KillWindow {
    /** The point's name. */
    static final String POINT = "command.running";

    /** How long after the command was sent, in milliseconds; it runs for a second. */
    private static final long DELAY = 300;

    private KillWindow() {}

    /** Call it right before a command is sent. Does nothing unless the point is armed and it is that command. */
    static void open(String command) {
        if (command.equals(Script.LONG_COMMAND)
                && System.getProperty(FaultPoints.PROPERTY, "").startsWith(POINT)) {
            CompletableFuture.delayedExecutor(DELAY, TimeUnit.MILLISECONDS).execute(() -> FaultPoints.reach(POINT));
        }
    }
}
