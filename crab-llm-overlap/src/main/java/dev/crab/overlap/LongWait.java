package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A wait that may take hours, during which a session can be parked: see {@link TurnCoordinator#longWait}. Thread-safe; {@link #end} is
 * called once, by the thread that waited.
 */
public final class LongWait {
    private final TurnCoordinator turns;
    final @Nullable String tool;
    final ToolEffect effect;
    final ObjectNode position;
    final BooleanSupplier parkable;

    /** Guarded by the coordinator's lock. */
    boolean parked;

    LongWait(
            TurnCoordinator turns,
            @Nullable String tool,
            ToolEffect effect,
            ObjectNode position,
            BooleanSupplier parkable) {
        this.turns = turns;
        this.tool = tool;
        this.effect = effect;
        this.position = position;
        this.parkable = parkable;
    }

    /**
     * It takes long: the open turn is committed, without the tool that waits, and then the session is parked. Where other tools run in the
     * sandbox, that is done when the last of them ends; where several wait, again when one of them is over and its tool has ended. Returns
     * at once; does nothing the second time, or if it may not be.
     */
    public void park() {
        turns.park(this);
    }

    /**
     * It is over. A tool passes the gate again, which brings the sandbox back if it was parked; if it was not, nothing happens.
     *
     * @throws dev.crab.runtime.error.CrabException what {@link TurnCoordinator#toolStarts} and restoring can throw: then the tool is no part of
     *     any turn, and {@link TurnCoordinator#toolEnded} must not be called for it
     */
    public void end() {
        turns.end(this);
    }
}
