package dev.crab.overlap;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Whether the model knows of the newest rollback: it is told with a result, as long as that counts. Guarded by the {@link SessionReplay} it
 * belongs to.
 */
final class Telling {
    private @Nullable Untold newest;
    private ToolRecords.@Nullable Result told;
    private boolean taken;

    /** There was a rollback. */
    void of(@Nullable Untold rollback) {
        newest = rollback;
        told = null;
        taken = false;
    }

    /** The first result behind it says so. */
    void result(ToolRecords.Result result) {
        if (told == null) {
            told = result;
        }
    }

    /** That result does not count: its tool runs again. */
    void undo(ToolRecords.Result result) {
        if (result.equals(told)) {
            told = null;
        }
    }

    Optional<Untold> take() {
        if (taken || told != null) {
            return Optional.empty();
        }
        taken = true;
        return Optional.ofNullable(newest);
    }
}
