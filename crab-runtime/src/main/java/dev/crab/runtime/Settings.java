package dev.crab.runtime;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where settings are read from, each from the first of these that has it: what the program asked for in code, the system property, the
 * environment variable, the default. Empty values count as absent. Immutable.
 *
 * <p>Every method that reads throws {@link CrabException} CONFIG_INVALID naming the setting and where its value came from.
 */
public final class Settings {
    /** The value of a setting in one place; null for what is absent there. */
    @FunctionalInterface
    public interface Lookup {
        @Nullable
        String get(String name);
    }

    /** Reads a value; throws {@link IllegalArgumentException} for one that has no meaning. */
    @FunctionalInterface
    public interface Parser<T> {
        T parse(String text);
    }

    private record Found(String key, String value, String source) {}

    private final Map<String, String> inCode;
    private final Lookup properties;
    private final Lookup environment;

    /** Settings from these places. */
    public Settings(Map<String, String> inCode, Lookup properties, Lookup environment) {
        this.inCode = Map.copyOf(inCode);
        this.properties = properties;
        this.environment = environment;
    }

    /** The settings of this process, behind values by property name that go before all others. */
    public static Settings of(Map<String, String> inCode) {
        return new Settings(inCode, System::getProperty, System::getenv);
    }

    /** The environment variable of a setting. */
    public static String variable(String key) {
        return key.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    /** One setting. */
    public <T> T one(String key, String otherwise, String form, Parser<T> parser) {
        Found found = find(key);
        return parse(found == null ? new Found(key, otherwise, "the default") : found, form, parser);
    }

    /** One of an enum's constants, written in any case and with {@code -} or {@code _}. */
    public <E extends Enum<E>> E one(String key, E otherwise) {
        Class<E> type = otherwise.getDeclaringClass();
        return one(
                key,
                otherwise.name(),
                "one of " + Arrays.toString(type.getEnumConstants()),
                text -> Enum.valueOf(type, text.toUpperCase(Locale.ROOT).replace('-', '_')));
    }

    /** A whole number within bounds, both of them allowed. */
    public long number(String key, long otherwise, long least, long most) {
        return one(key, Long.toString(otherwise), "a number from " + least + " to " + most, text -> {
            long number = Long.parseLong(text);
            if (number < least || number > most) {
                throw new IllegalArgumentException(text);
            }
            return number;
        });
    }

    /** {@code true} or {@code false}, and nothing else. */
    public boolean flag(String key, boolean otherwise) {
        return one(key, Boolean.toString(otherwise), "true or false", text -> switch (text.toLowerCase(Locale.ROOT)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException(text);
        });
    }

    /** A setting without a default. */
    public <T> Optional<T> optional(String key, String form, Parser<T> parser) {
        return Optional.ofNullable(find(key)).map(found -> parse(found, form, parser));
    }

    /** Reads an absolute path. */
    public static Path absolute(String text) {
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
        return value == null || value.isEmpty() ? null : new Found(key, value, "the environment variable " + variable);
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
}
