package dev.crab.overlap;

import java.util.List;

/**
 * A rollback of which the model has not been told yet.
 *
 * @param turn where the session went back to
 * @param note why; not empty
 * @param outside what tools did outside the sandbox in the turns that are void now, oldest first
 */
public record Untold(long turn, String note, List<OutsideEffect> outside) {
    public Untold {
        outside = List.copyOf(outside);
    }
}
