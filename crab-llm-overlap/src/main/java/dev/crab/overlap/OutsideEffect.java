package dev.crab.overlap;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * What a tool did outside the sandbox in a turn that is void now: no rollback undoes it.
 *
 * @param tool the tool's name
 * @param result what it answered, as the layer above recorded it; null where it is unknown whether it ran to its end
 */
public record OutsideEffect(String tool, @Nullable ObjectNode result) {}
