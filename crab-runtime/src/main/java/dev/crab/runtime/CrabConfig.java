package dev.crab.runtime;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.FilePolicy;
import dev.crab.runtime.inspector.InspectorTier;
import dev.crab.runtime.session.DamagePolicy;
import dev.crab.runtime.session.LostPolicy;
import dev.crab.runtime.session.UncapturedPolicy;
import dev.crab.runtime.snapshot.SnapshotKind;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

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
 * <tr><td>{@value #KEEP}</td><td>{@code 3}</td><td>generations kept besides the last commit's; 1 to 10000</td></tr>
 * <tr><td>{@value #INSPECTOR}</td><td>{@code TRACEPOINT}</td><td>see {@link InspectorTier}; never chosen by itself, since a host that
 * refuses the sharper tier would then quietly cost more</td></tr>
 * <tr><td>{@value #SNAPSHOTTER}</td><td>{@code AUTO}</td><td>see {@link SnapshotKind}</td></tr>
 * <tr><td>{@value #IGNORE_FILES}</td><td>none</td><td>globs from the sandbox's root, separated by commas: see {@link FilePolicy}</td></tr>
 * <tr><td>{@value #IGNORE_REWRITES}</td><td>{@code false}</td><td>whether a file written anew with the same content is no change</td></tr>
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
 * @param inspector how turns are judged
 * @param snapshotter how snapshots of files are taken
 * @param files which changes of files a turn is saved for
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
        InspectorTier inspector,
        SnapshotKind snapshotter,
        FilePolicy files) {
    public static final String ENABLED = "crab.enabled";
    public static final String DATA = "crab.data";
    public static final String CRIU = "crab.criu";
    public static final String SESSION = "crab.session";
    public static final String ON_UNCAPTURED = "crab.on-uncaptured";
    public static final String ON_LOST = "crab.on-lost";
    public static final String ON_DAMAGED = "crab.on-damaged";
    public static final String KEEP = "crab.keep-generations";
    public static final String INSPECTOR = "crab.inspector";
    public static final String SNAPSHOTTER = "crab.snapshotter";
    public static final String IGNORE_FILES = "crab.ignore-files";
    public static final String IGNORE_REWRITES = "crab.ignore-rewrites";

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
        return new Source(inCode, System::getProperty, System::getenv).read();
    }

    /** Where the three kinds of settings are read from; the two look-ups return null for what is absent. */
    record Source(Map<String, String> inCode, Lookup properties, Lookup environment) {
        CrabConfig read() {
            return new CrabConfig(
                    one(ENABLED, "true", "true or false", Source::strictBoolean),
                    one(DATA, "/var/lib/crab", "an absolute path", Source::absolute),
                    Optional.ofNullable(find(CRIU)).map(found -> parse(found, "an absolute path", Source::absolute)),
                    one(SESSION, "default", "a name", text -> text),
                    one(ON_UNCAPTURED, UncapturedPolicy.FAIL),
                    one(ON_LOST, LostPolicy.REPORT),
                    one(ON_DAMAGED, DamagePolicy.FALL_BACK),
                    one(KEEP, "3", "a number from 1 to 10000", Source::generations),
                    one(INSPECTOR, InspectorTier.TRACEPOINT),
                    one(SNAPSHOTTER, SnapshotKind.AUTO),
                    files());
        }

        private FilePolicy files() {
            boolean rewrites = one(IGNORE_REWRITES, "false", "true or false", Source::strictBoolean);
            Found globs = find(IGNORE_FILES);
            return globs == null
                    ? new FilePolicy(List.of(), rewrites)
                    : parse(
                            globs,
                            "globs that begin with /, separated by commas",
                            text -> new FilePolicy(List.of(text.trim().split("\\s*,\\s*", -1)), rewrites));
        }

        private static String constant(String text) {
            return text.toUpperCase(Locale.ROOT).replace('-', '_');
        }

        private <E extends Enum<E>> E one(String key, E otherwise) {
            Class<E> type = otherwise.getDeclaringClass();
            return one(
                    key,
                    otherwise.name(),
                    "one of " + Arrays.toString(type.getEnumConstants()),
                    text -> Enum.valueOf(type, constant(text)));
        }

        private <T> T one(String key, String otherwise, String form, Parser<T> parser) {
            Found found = find(key);
            return parse(found == null ? new Found(key, otherwise, "the default") : found, form, parser);
        }

        private @Nullable Found find(String key) {
            String variable = variable(key);
            String value = inCode.get(key);
            if (value != null && !value.isEmpty()) {
                return new Found(key, value, "the builder");
            }
            value = properties.get(key);
            if (value != null && !value.isEmpty()) {
                return new Found(key, value, "the system property " + key);
            }
            value = environment.get(variable);
            return value == null || value.isEmpty()
                    ? null
                    : new Found(key, value, "the environment variable " + variable);
        }

        private static <T> T parse(Found found, String form, Parser<T> parser) {
            try {
                return parser.parse(found.value);
            } catch (IllegalArgumentException e) {
                throw CrabException.of(
                        ErrorCode.CONFIG_INVALID,
                        "the setting " + found.key + " cannot be used",
                        found.source + " says \"" + found.value + "\"",
                        "make it " + form,
                        e);
            }
        }

        private static boolean strictBoolean(String text) {
            return switch (text.toLowerCase(Locale.ROOT)) {
                case "true" -> true;
                case "false" -> false;
                default -> throw new IllegalArgumentException(text);
            };
        }

        private static Path absolute(String text) {
            try {
                Path path = Path.of(text);
                if (!path.isAbsolute()) {
                    throw new IllegalArgumentException(text);
                }
                return path.normalize();
            } catch (InvalidPathException e) {
                throw new IllegalArgumentException(text, e);
            }
        }

        private static int generations(String text) {
            int number = Integer.parseInt(text);
            if (number < 1 || number > 10_000) {
                throw new IllegalArgumentException(text);
            }
            return number;
        }
    }

    /** The environment variable of a setting. */
    public static String variable(String key) {
        return key.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    @FunctionalInterface
    interface Lookup {
        @Nullable
        String get(String name);
    }

    @FunctionalInterface
    private interface Parser<T> {
        T parse(String text);
    }

    private record Found(String key, String value, String source) {}
}
