package dev.crab.samples.truth;

import dev.crab.runtime.inspector.Effect;
import java.util.List;

/**
 * What a turn did to its sandbox, by the difference of the states before and after it.
 *
 * @param effect the components that a recovery needs
 * @param evidence each line that differs, {@code key: before -> after}; empty exactly when the effect is NONE
 */
record Truth(Effect effect, List<String> evidence) {
    Truth {
        evidence = List.copyOf(evidence);
    }
}
