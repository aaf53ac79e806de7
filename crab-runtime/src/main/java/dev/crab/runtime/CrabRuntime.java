package dev.crab.runtime;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.UncapturedPolicy;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Sandboxes that come back after a crash: the entry to the runtime. One per data directory and process is enough; thread-safe.
 *
 * <pre>{@code
 * try (CrabRuntime crab = CrabRuntime.builder().build();
 *         SandboxSession session = crab.open("ticket-42", SandboxSpec.defaults())) {
 *     Turn turn = session.beginTurn();
 *     session.sandbox().exec("make test");
 *     turn.commit(position);
 * }
 * }</pre>
 */
public final class CrabRuntime implements AutoCloseable {
    private final CrabConfig config;

    private CrabRuntime(CrabConfig config) {
        this.config = config;
    }

    /**
     * A builder whose settings go before system properties and environment. What is not set has the default:
     *
     * <ul>
     *   <li>{@link Builder#dataDirectory}: {@code /var/lib/crab}
     *   <li>{@link Builder#criu}: looked up at {@code /usr/local/lib/crab/criu/criu}, then in PATH
     *   <li>{@link Builder#onUncaptured}: {@link UncapturedPolicy#FAIL}
     *   <li>{@link Builder#keepGenerations}: 3
     * </ul>
     */
    public static Builder builder() {
        return new Builder();
    }

    /** The settings in force. */
    public CrabConfig config() {
        return config;
    }

    /**
     * Opens a session: makes it if there is none of that name, else brings its sandbox back to the last committed turn.
     *
     * @param sessionId 1 to 63 characters of {@code [a-z0-9_-]}, the first of {@code [a-z0-9]}
     * @param spec what a new sandbox is like; a session that exists keeps the one it was made with
     * @throws CrabException NAME_INVALID; SESSION_LOCKED with the owner's pid; JOURNAL_CORRUPT, MANIFEST_CORRUPT, OBJECT_CORRUPT,
     *     SNAPSHOT_MISSING, RESTORE_FAILED, RESTORE_MISMATCH where it cannot be brought back whole (then nothing is); what
     *     {@code CrabSupport} names where this host lacks something
     */
    public SandboxSession open(String sessionId, SandboxSpec spec) {
        return opener().apply(sessionId, spec);
    }

    /**
     * Opens a session that exists.
     *
     * @throws CrabException SESSION_UNKNOWN if it does not; else as {@link #open}
     */
    public SandboxSession resume(String sessionId) {
        return opener().apply(sessionId, null);
    }

    private BiFunction<String, @Nullable SandboxSpec, SandboxSession> opener() {
        throw CrabException.of(ErrorCode.INTERNAL, "no session can be opened", "this build has no engine", "wait");
    }

    /** Names of the sessions in the data directory, sorted. */
    public List<String> sessions() {
        return List.of();
    }

    /** Closes every session that is still open, and releases what the runtime holds of the host. Idempotent. */
    @Override
    public void close() {}

    /** Collects settings for a {@link CrabRuntime}. Not thread-safe. */
    public static final class Builder {
        private final Map<String, String> settings = new LinkedHashMap<>();

        private Builder() {}

        /** The data directory, an absolute path. Default: {@code /var/lib/crab}. */
        public Builder dataDirectory(Path directory) {
            return set(CrabConfig.DATA, directory.toString());
        }

        /** The CRIU binary, an absolute path. Default: looked up. */
        public Builder criu(Path binary) {
            return set(CrabConfig.CRIU, binary.toString());
        }

        /** What to do where processes cannot be captured. Default: {@link UncapturedPolicy#FAIL}. */
        public Builder onUncaptured(UncapturedPolicy policy) {
            return set(CrabConfig.ON_UNCAPTURED, policy.name());
        }

        /** How many of the newest generations stay in the store, 1 to 10000. Default: 3. */
        public Builder keepGenerations(int count) {
            return set(CrabConfig.KEEP, Integer.toString(count));
        }

        /** Any setting by its property name, as {@link CrabConfig} lists them. */
        public Builder set(String property, String value) {
            settings.put(property, value);
            return this;
        }

        /**
         * Makes the runtime. Touches neither the kernel nor the disk: that is left to the first session.
         *
         * @throws CrabException CONFIG_INVALID
         */
        public CrabRuntime build() {
            return new CrabRuntime(CrabConfig.resolve(settings));
        }
    }
}
