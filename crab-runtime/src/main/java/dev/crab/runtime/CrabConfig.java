package dev.crab.runtime;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.inspector.FilePolicy;
import dev.crab.runtime.inspector.InspectorTier;
import dev.crab.runtime.os.HostMemory;
import dev.crab.runtime.session.DamagePolicy;
import dev.crab.runtime.session.LostPolicy;
import dev.crab.runtime.session.StandbyPolicy;
import dev.crab.runtime.session.UncapturedPolicy;
import dev.crab.runtime.snapshot.SnapshotKind;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Crab's settings, each from the first of these that has it: what the program asked for in code, the system property, the environment
 * variable, the default. The variable's name is the property's in upper case with {@code _} for {@code .} and {@code -}:
 * {@code crab.on-uncaptured} is {@code CRAB_ON_UNCAPTURED}. Empty values count as absent. Immutable.
 *
 * <table>
 * <caption>Settings</caption>
 * <tr><th>property</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@value #ENABLED}</td><td>{@code true}</td><td>{@code false}: Crab does nothing at all</td></tr>
 * <tr><td>{@value #DATA}</td><td>{@code /var/lib/crab}</td><td>absolute path of the data directory</td></tr>
 * <tr><td>{@value #CRIU}</td><td>looked up</td><td>absolute path of the CRIU binary</td></tr>
 * <tr><td>{@value #SESSION}</td><td>{@code default}</td><td>session used where nothing names one</td></tr>
 * <tr><td>{@value #ON_UNCAPTURED}</td><td>{@code FAIL}</td><td>see {@link UncapturedPolicy}</td></tr>
 * <tr><td>{@value #ON_LOST}</td><td>{@code REPORT}</td><td>see {@link LostPolicy}</td></tr>
 * <tr><td>{@value #ON_DAMAGED}</td><td>{@code FALL_BACK}</td><td>see {@link DamagePolicy}</td></tr>
 * <tr><td>{@value #KEEP}</td><td>{@code 3}</td><td>generations kept, the last commit's among them; 1 to 10000</td></tr>
 * <tr><td>{@value #STANDBY}</td><td>{@code 0}</td><td>sandboxes that are restored ahead for each open session, of its newest
 * checkpoints; 0 to 16; see {@link StandbyPolicy}</td></tr>
 * <tr><td>{@value #STANDBY_MEMORY}</td><td>an eighth of the host's</td><td>bytes that all their processes may have together</td></tr>
 * <tr><td>{@value #INSPECTOR}</td><td>{@code TRACEPOINT}</td><td>see {@link InspectorTier}; never chosen by itself, since a host that
 * refuses the sharper tier would then quietly cost more</td></tr>
 * <tr><td>{@value #SNAPSHOTTER}</td><td>{@code AUTO}</td><td>see {@link SnapshotKind}</td></tr>
 * <tr><td>{@value #IGNORE_FILES}</td><td>none</td><td>globs from the sandbox's root, separated by commas: see {@link FilePolicy}</td></tr>
 * <tr><td>{@value #IGNORE_REWRITES}</td><td>{@code false}</td><td>whether a file written anew with the same content is no change</td></tr>
 * <tr><td>{@value #SHUTDOWN_WAIT}</td><td>{@code 20}</td><td>seconds that the end of the JVM waits at most for an open turn's tools and
 * commit; 0 to 3600</td></tr>
 * <tr><td>{@value #PARK_AFTER}</td><td>{@code 30}</td><td>seconds that a tool or a question waits for a person before the session is
 * parked; 0 to 86400</td></tr>
 * </table>
 *
 * @param enabled whether Crab does anything
 * @param data the data directory; absolute
 * @param criu the CRIU binary asked for, if one was
 * @param session the session used where nothing names one
 * @param onUncaptured what to do where processes cannot be captured
 * @param onLost what a restore does about processes that could not be captured
 * @param onDamaged what to do where the newest checkpoint does not come back
 * @param keepGenerations how many of the newest generations stay in the store, from 1
 * @param standby how many sandboxes are restored ahead
 * @param inspector how turns are judged
 * @param snapshotter how snapshots of files are taken
 * @param files which changes of files a turn is saved for
 * @param shutdownWait how long the end of the JVM waits at most for an open turn to be committed
 * @param parkAfter how long a wait for a person lasts before the session is parked
 */
public record CrabConfig(
        boolean enabled,
        Path data,
        Optional<Path> criu,
        String session,
        UncapturedPolicy onUncaptured,
        LostPolicy onLost,
        DamagePolicy onDamaged,
        int keepGenerations,
        StandbyPolicy standby,
        InspectorTier inspector,
        SnapshotKind snapshotter,
        FilePolicy files,
        Duration shutdownWait,
        Duration parkAfter) {
    public static final String ENABLED = "crab.enabled";
    public static final String DATA = "crab.data";
    public static final String CRIU = "crab.criu";
    public static final String SESSION = "crab.session";
    public static final String ON_UNCAPTURED = "crab.on-uncaptured";
    public static final String ON_LOST = "crab.on-lost";
    public static final String ON_DAMAGED = "crab.on-damaged";
    public static final String KEEP = "crab.keep-generations";
    public static final String STANDBY = "crab.standby";
    public static final String STANDBY_MEMORY = "crab.standby-memory";
    public static final String INSPECTOR = "crab.inspector";
    public static final String SNAPSHOTTER = "crab.snapshotter";
    public static final String IGNORE_FILES = "crab.ignore-files";
    public static final String IGNORE_REWRITES = "crab.ignore-rewrites";
    public static final String SHUTDOWN_WAIT = "crab.shutdown-wait";
    public static final String PARK_AFTER = "crab.park-after";

    /**
     * The settings of this process: system properties, then environment, then defaults.
     *
     * @throws CrabException CONFIG_INVALID naming the setting and where its value came from
     */
    public static CrabConfig resolve() {
        return resolve(Map.of());
    }

    /**
     * As {@link #resolve()}, with values by property name that go before all others.
     *
     * @throws CrabException CONFIG_INVALID naming the setting and where its value came from
     */
    public static CrabConfig resolve(Map<String, String> inCode) {
        return read(Settings.of(inCode));
    }

    static CrabConfig read(Settings settings) {
        return new CrabConfig(
                settings.flag(ENABLED, true),
                settings.one(DATA, "/var/lib/crab", "an absolute path", Settings::absolute),
                settings.optional(CRIU, "an absolute path", Settings::absolute),
                settings.one(SESSION, "default", "a name", text -> text),
                settings.one(ON_UNCAPTURED, UncapturedPolicy.FAIL),
                settings.one(ON_LOST, LostPolicy.REPORT),
                settings.one(ON_DAMAGED, DamagePolicy.FALL_BACK),
                (int) settings.number(KEEP, 3, 1, 10_000),
                new StandbyPolicy(
                        (int) settings.number(STANDBY, 0, 0, 16),
                        settings.number(STANDBY_MEMORY, HostMemory.total() / 8, 0, Long.MAX_VALUE)),
                settings.one(INSPECTOR, InspectorTier.TRACEPOINT),
                settings.one(SNAPSHOTTER, SnapshotKind.AUTO),
                files(settings),
                Duration.ofSeconds(settings.number(SHUTDOWN_WAIT, 20, 0, 3_600)),
                Duration.ofSeconds(settings.number(PARK_AFTER, 30, 0, 86_400)));
    }

    private static FilePolicy files(Settings settings) {
        boolean rewrites = settings.flag(IGNORE_REWRITES, false);
        return settings.optional(
                        IGNORE_FILES,
                        "globs that begin with /, separated by commas",
                        text -> new FilePolicy(List.of(text.trim().split("\\s*,\\s*", -1)), rewrites))
                .orElseGet(() -> new FilePolicy(List.of(), rewrites));
    }

    /** The environment variable of a setting. */
    public static String variable(String key) {
        return Settings.variable(key);
    }
}
