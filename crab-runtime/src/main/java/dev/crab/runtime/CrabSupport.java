package dev.crab.runtime;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Whether Crab can work on this host, and what it lacks. Thread-safe.
 *
 * <p>The three methods without an argument are about the settings of this process ({@link CrabConfig#resolve()}) and are decided once,
 * at the first call.
 */
public final class CrabSupport {
    private CrabSupport() {}

    /**
     * One prerequisite.
     *
     * @param name short name, {@code [a-z0-9-]+}
     * @param status whether it is there
     * @param detail what was found, or what is missing
     * @param cure what to do about it; empty if all is well
     * @param code what Crab would throw for want of it; null if all is well
     */
    public record Check(
            String name,
            Status status,
            String detail,
            String cure,
            @Nullable ErrorCode code) {}

    /** Whether a prerequisite is there. */
    public enum Status {
        /** It is there. */
        OK,
        /** Crab works without it, though not as well or not with the defaults. */
        WARNING,
        /** Crab does not work without it. */
        MISSING
    }

    /** Looks at every prerequisite, in the order in which they depend on each other. Never throws for what it finds. */
    public static List<Check> checks(CrabConfig config) {
        return new HostChecks(config).all();
    }

    /** Whether everything that Crab needs is there. */
    public static boolean isAvailable() {
        return unavailabilityCause() == null;
    }

    /** The first thing that is missing; null if nothing is. */
    public static @Nullable CrabException unavailabilityCause() {
        return Holder.MISSING
                .map(check -> CrabException.of(
                        check.code() == null ? ErrorCode.INTERNAL : check.code(),
                        "Crab cannot work on this host",
                        check.name() + ": " + check.detail(),
                        check.cure()))
                .orElse(null);
    }

    /**
     * Does nothing if Crab can work here.
     *
     * @throws CrabException what {@link #unavailabilityCause} gives
     */
    public static void ensureAvailable() {
        CrabException cause = unavailabilityCause();
        if (cause != null) {
            throw cause;
        }
    }

    private static final class Holder {
        static final Optional<Check> MISSING = find();

        private static Optional<Check> find() {
            try {
                return checks(CrabConfig.resolve()).stream()
                        .filter(check -> check.status() == Status.MISSING)
                        .findFirst();
            } catch (CrabException e) {
                return Optional.of(new Check("settings", Status.MISSING, e.why(), e.cure(), e.code()));
            }
        }
    }
}
