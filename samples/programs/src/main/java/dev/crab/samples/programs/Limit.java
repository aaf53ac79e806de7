package dev.crab.samples.programs;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.util.Objects;

/**
 * Why a program is known not to come through. Immutable.
 *
 * @param code how Crab refuses
 * @param says a part of the reason that Crab gives
 * @param why for reading
 */
record Limit(ErrorCode code, String says, String why) {
    Limit {
        Objects.requireNonNull(code, "code");
        Objects.requireNonNull(says, "says");
        Objects.requireNonNull(why, "why");
    }

    boolean isMetBy(CrabException refusal) {
        return refusal.code() == code && refusal.why().contains(says);
    }
}
