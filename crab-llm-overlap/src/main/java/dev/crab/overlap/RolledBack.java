package dev.crab.overlap;

import dev.crab.runtime.session.Rollback;
import java.util.List;

/**
 * What going back came to.
 *
 * @param rollback the sandbox's part
 * @param outside what tools did outside the sandbox in the turns that are void now, oldest first
 */
public record RolledBack(Rollback rollback, List<OutsideEffect> outside) {
    public RolledBack {
        outside = List.copyOf(outside);
    }
}
