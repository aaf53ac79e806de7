package dev.crab.runtime.engine;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.store.CheckpointImage;
import dev.crab.runtime.store.ObjectRef;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a capture is to take.
 *
 * @param snapshotId id for the snapshot, not yet in use; objects that belong to it are named after it
 * @param effect what changed since the previous checkpoint; the hook may make it more
 * @param dumpNeeded whether a dump is needed even if only pid 1 runs, because something outlives its processes (System V IPC objects)
 * @param previous the checkpoint before, whose dump is used again if only files changed; null if there is none
 * @param mayEqualPrevious whether the dump may turn out to equal an earlier one, so that it is worth being compared: processes ran, and
 *     nothing else is known of them
 * @param processesGivenUp the processes could not be captured, and only the files are to be saved: a restore starts pid 1 afresh
 * @param neighbours dumps of other sandboxes that this one may have pages in common with, the likeliest first; asked when the dump is
 *     stored, and any of them may be gone then
 */
public record CheckpointPlan(
        String snapshotId,
        Effect effect,
        boolean dumpNeeded,
        @Nullable CheckpointImage previous,
        boolean mayEqualPrevious,
        boolean processesGivenUp,
        Supplier<List<ObjectRef>> neighbours) {
    /** A plan that gives nothing up and expects a dump to differ. */
    public CheckpointPlan(String snapshotId, Effect effect, boolean dumpNeeded, @Nullable CheckpointImage previous) {
        this(snapshotId, effect, dumpNeeded, previous, false, false, List::of);
    }
}
