package dev.crab.runtime;

import dev.crab.runtime.criu.CriuClient;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.FilePolicy;
import dev.crab.runtime.inspector.InspectorTier;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.ChatArchive;
import dev.crab.runtime.session.DamagePolicy;
import dev.crab.runtime.session.GarbageCollector;
import dev.crab.runtime.session.LostPolicy;
import dev.crab.runtime.session.Rollback;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.SandboxSessions;
import dev.crab.runtime.session.SessionArchive;
import dev.crab.runtime.session.UncapturedPolicy;
import dev.crab.runtime.snapshot.SnapshotKind;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.Names;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
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
    /** Where {@code ./crab setup} puts the one that it has tested. */
    private static final Path SETUP_CRIU = Path.of("/usr/local/lib/crab/criu/criu");

    private final CrabConfig config;

    // Guarded by this.
    private @Nullable RuntimeParts parts;
    private boolean closed;

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
     *   <li>{@link Builder#onLost}: {@link LostPolicy#REPORT}
     *   <li>{@link Builder#onDamaged}: {@link DamagePolicy#FALL_BACK}
     *   <li>{@link Builder#keepGenerations}: 3
     *   <li>{@link Builder#inspector}: {@link InspectorTier#TRACEPOINT}
     *   <li>{@link Builder#snapshotter}: {@link SnapshotKind#AUTO}
     *   <li>{@link Builder#ignoreFiles}, {@link Builder#ignoreRewrites}: nothing is ignored
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
     * Opens a session: makes it if there is none of that name, else brings its sandbox back to the last committed turn that can be: see
     * {@link DamagePolicy}.
     *
     * @param sessionId 1 to 63 characters of {@code [a-z0-9_-]}, the first of {@code [a-z0-9]}
     * @param spec what a new sandbox is like; a session that exists keeps the one it was made with
     * @throws CrabException NAME_INVALID; SESSION_LOCKED with the owner's pid; JOURNAL_CORRUPT, MANIFEST_CORRUPT, OBJECT_CORRUPT,
     *     SNAPSHOT_MISSING, RESTORE_FAILED, RESTORE_MISMATCH where neither the last turn nor, by {@link DamagePolicy}, an earlier one
     *     can be brought back whole (then nothing is); what {@link CrabSupport} names where this host lacks something
     */
    public SandboxSession open(String sessionId, SandboxSpec spec) {
        return parts().sessions().open(Names.session(sessionId), spec);
    }

    /**
     * Opens a session that exists.
     *
     * @throws CrabException SESSION_UNKNOWN if it does not; else as {@link #open}
     */
    public SandboxSession resume(String sessionId) {
        Names.session(sessionId);
        if (!Files.isDirectory(data().session(sessionId))) {
            throw CheckpointStore.unknown(data(), sessionId);
        }
        return parts().sessions().open(sessionId, null);
    }

    /**
     * Removes a session for good, with everything that was committed, whether or not it could still be opened; one that was opened without a
     * sandbox, too, if there is none of that name with one.
     *
     * @throws CrabException NAME_INVALID; SESSION_UNKNOWN; SESSION_LOCKED while anybody, this process included, has it open; IO_FAILED
     */
    public void delete(String sessionId) {
        Names.session(sessionId);
        if (!Files.isDirectory(data().session(sessionId))) {
            SandboxSessions.removeChat(data(), sessionId);
            return;
        }
        parts().sessions().remove(sessionId);
    }

    /**
     * Ends what the sandbox of a session still runs after its owner has died. What was committed stays: opening the session brings the
     * sandbox back as at the last commit, as it would have without this call.
     *
     * @throws CrabException NAME_INVALID; SESSION_UNKNOWN; SESSION_LOCKED while anybody, this process included, has it open; IO_FAILED
     */
    public void stop(String sessionId) {
        Names.session(sessionId);
        if (!Files.isDirectory(data().session(sessionId))) {
            throw CheckpointStore.unknown(data(), sessionId);
        }
        parts().sessions().stop(sessionId);
    }

    /**
     * Goes back to a turn of a session that nobody has open: the next opening brings it back. For one that is open,
     * {@link SandboxSession#rollbackTo}.
     *
     * @param turn one of its turns, or 0 for the image as it came
     * @param note why, for the journal; may be empty
     * @throws CrabException NAME_INVALID; SESSION_UNKNOWN; SESSION_LOCKED; TURN_UNKNOWN; TURN_NOT_KEPT; what checking the turn finds;
     *     DISK_FULL, IO_FAILED
     */
    public Rollback rollback(String sessionId, long turn, String note) {
        return parts().sessions().rollback(sessionId, turn, note);
    }

    /**
     * Makes sessions that begin where one that nobody has open was at a turn, and opens none of them. For one that is open,
     * {@link SandboxSession#branch}.
     *
     * @throws CrabException NAME_INVALID; NAME_TAKEN; SESSION_UNKNOWN; SESSION_LOCKED; TURN_UNKNOWN; TURN_NOT_KEPT; DISK_FULL, IO_FAILED
     */
    public void branch(String sessionId, long turn, List<String> names) {
        parts().sessions().branch(sessionId, turn, names);
    }

    /**
     * Gives a turn of a session that nobody has open a name, which keeps it. For one that is open, {@link SandboxSession#label}.
     *
     * @param turn one of its turns, from 1
     * @param label as there; null takes the turn's label away
     * @throws CrabException NAME_INVALID; SESSION_UNKNOWN; SESSION_LOCKED; TURN_UNKNOWN; TURN_NOT_KEPT; DISK_FULL, IO_FAILED
     */
    public void label(String sessionId, long turn, @Nullable String label) {
        SandboxSessions.label(data(), sessionId, turn, label);
    }

    /**
     * Frees what nobody needs any more in all sessions that nobody has open: generations beyond {@link CrabConfig#keepGenerations}, what
     * turns that never committed have left, what dead owners left running. Safe at any moment.
     *
     * @param dryRun change nothing, only say what would go
     * @throws CrabException IO_FAILED; what {@link CrabSupport} names where this host lacks something
     */
    public GarbageCollector.Report collectGarbage(boolean dryRun) {
        return parts().sessions().collectGarbage(dryRun);
    }

    /** Names of the sessions in the data directory, sorted. */
    public List<String> sessions() {
        return data().sessions();
    }

    /** Names of the sessions that were opened where there could be no sandbox, sorted. */
    public List<String> chats() {
        return data().chats();
    }

    /**
     * What is kept of a session that was opened where there could be no sandbox. Needs no lock: its owner may be alive.
     *
     * @throws CrabException NAME_INVALID, SESSION_UNKNOWN, JOURNAL_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    public ChatArchive chat(String sessionId) {
        return ChatArchive.read(data(), sessionId);
    }

    /**
     * What the store holds of a session. Needs no lock: its owner may be alive.
     *
     * @throws CrabException NAME_INVALID, SESSION_UNKNOWN, JOURNAL_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    public SessionArchive archive(String sessionId) {
        return SessionArchive.read(data(), sessionId);
    }

    /** The pid of the living process that has the session open, if one has. */
    public OptionalLong owner(String sessionId) {
        return SessionArchive.owner(data(), sessionId);
    }

    /**
     * Whether a sandbox of the session runs on this host now: of the program that has it open ({@link #owner}), or, where none has, of one
     * that was killed; {@link #stop} ends that one.
     *
     * @throws CrabException NAME_INVALID, IO_FAILED
     */
    public boolean isRunning(String sessionId) {
        String sandbox = data().sandbox(Names.session(sessionId));
        try {
            return !Cgroups.detect().group(sandbox).processes().isEmpty();
        } catch (CrabException e) {
            if (e.code() == ErrorCode.CGROUP_V2_MISSING) {
                return false; // no sandbox can run on this host
            }
            throw e;
        } catch (IOException e) {
            throw CrabException.io("the processes of sandbox " + sandbox + " cannot be listed", e);
        }
    }

    /** The data directory. */
    public DataDirectory data() {
        return new DataDirectory(config.data());
    }

    /**
     * Checks every kept generation of a session without restoring it; see {@link SessionArchive#verify}.
     *
     * @throws CrabException as {@link #archive}, for then nothing behind it can be checked; and BTRFS_MISSING, REFLINK_MISSING,
     *     NOT_ROOT or DATA_DIRECTORY_UNUSABLE where the snapshots cannot be reached
     */
    public void verify(String sessionId, Consumer<SessionArchive.Finding> onFinding) {
        SessionArchive archive = archive(sessionId);
        try (Snapshotter snapshots = Snapshotters.open(config.data(), config.snapshotter())) {
            archive.verify(data(), snapshots, onFinding);
        }
    }

    /**
     * The CRIU binary that these settings lead to.
     *
     * @throws CrabException CRIU_MISSING
     */
    public static Path criu(CrabConfig config) {
        if (config.criu().isPresent()) {
            return config.criu().get();
        }
        return Files.isExecutable(SETUP_CRIU)
                ? SETUP_CRIU
                : CriuClient.find(Optional.ofNullable(System.getenv("PATH")).orElse("/usr/sbin:/usr/bin"));
    }

    private synchronized RuntimeParts parts() {
        if (closed) {
            throw CrabException.of(
                    ErrorCode.STATE_INVALID, "no session can be opened", "the runtime is closed", "make a new one");
        }
        if (parts == null) {
            parts = RuntimeParts.make(config);
        }
        return parts;
    }

    /** Closes every session that is still open, and releases what the runtime holds of the host. Idempotent. */
    @Override
    public void close() {
        RuntimeParts made;
        synchronized (this) {
            closed = true;
            made = parts;
            parts = null;
        }
        if (made != null) {
            made.close();
        }
    }

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

        /** What a restore does about processes that could not be captured. Default: {@link LostPolicy#REPORT}. */
        public Builder onLost(LostPolicy policy) {
            return set(CrabConfig.ON_LOST, policy.name());
        }

        /** What to do where the newest checkpoint does not come back. Default: {@link DamagePolicy#FALL_BACK}. */
        public Builder onDamaged(DamagePolicy policy) {
            return set(CrabConfig.ON_DAMAGED, policy.name());
        }

        /** How many of the newest generations stay in the store, 1 to 10000. Default: 3. */
        public Builder keepGenerations(int count) {
            return set(CrabConfig.KEEP, Integer.toString(count));
        }

        /** How turns are judged. Default: {@link InspectorTier#TRACEPOINT}; a host that refuses it is an error, never a quiet fall-back. */
        public Builder inspector(InspectorTier tier) {
            return set(CrabConfig.INSPECTOR, tier.name());
        }

        /** How snapshots of files are taken. Default: {@link SnapshotKind#AUTO}. */
        public Builder snapshotter(SnapshotKind kind) {
            return set(CrabConfig.SNAPSHOTTER, kind.name());
        }

        /** Globs of paths whose changes alone are no reason to save a turn: see {@link FilePolicy}. Default: none. */
        public Builder ignoreFiles(String... globs) {
            return set(CrabConfig.IGNORE_FILES, String.join(",", globs));
        }

        /** Whether a file that was written anew with the same content is unchanged: see {@link FilePolicy}. Default: no. */
        public Builder ignoreRewrites(boolean ignore) {
            return set(CrabConfig.IGNORE_REWRITES, Boolean.toString(ignore));
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
