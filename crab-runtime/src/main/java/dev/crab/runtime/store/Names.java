package dev.crab.runtime.store;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The names under which things lie in the store.
 *
 * <p>A session's name has no dot, and everything that belongs to a session is called {@code <session>.<rest>}. So what belongs to which
 * session can be told from names alone, which is what lets one session sweep its leftovers beside others that are alive.
 */
public final class Names {
    private static final Pattern SESSION = Pattern.compile("[a-z0-9][a-z0-9_-]{0,62}");
    private static final Pattern KIND = Pattern.compile("[a-z][a-z0-9-]{0,31}");

    private static final Pattern CHECKPOINT = Pattern.compile("([^.]+)\\.g([0-9]{1,18})(\\..*)?");

    private Names() {}

    /**
     * Checks a session's name: 1 to 63 characters of {@code [a-z0-9_-]}, the first of {@code [a-z0-9]}.
     *
     * @return the name
     * @throws CrabException NAME_INVALID
     */
    public static String session(String name) {
        if (!isSession(name)) {
            throw CrabException.of(
                    ErrorCode.NAME_INVALID,
                    "\"" + printable(name) + "\" cannot name a session",
                    "a session's name has 1 to 63 characters of a-z, 0-9, - and _, and begins with a letter or digit",
                    "choose another name");
        }
        return name;
    }

    /** Whether {@link #session} would accept it. */
    public static boolean isSession(String name) {
        return SESSION.matcher(name).matches();
    }

    /** What everything of a session that lies beside that of other sessions begins with. */
    public static String prefix(String session) {
        return session + ".";
    }

    /** The name of a session's checkpoint: what its snapshot and its objects are called, or begin with. */
    public static String checkpoint(String session, long generation) {
        return prefix(session) + "g" + generation;
    }

    /** The generation that a name of {@link #checkpoint}, or one that begins so, stands for; empty if it is none of that session. */
    public static OptionalLong generation(String session, String name) {
        Matcher matcher = CHECKPOINT.matcher(name);
        return matcher.matches() && matcher.group(1).equals(session)
                ? OptionalLong.of(Long.parseLong(matcher.group(2)))
                : OptionalLong.empty();
    }

    static String kind(String kind) {
        if (!KIND.matcher(kind).matches()) {
            throw CrabException.of(
                    ErrorCode.NAME_INVALID,
                    "\"" + printable(kind) + "\" cannot be a kind of journal record",
                    "a kind has 1 to 32 characters of a-z, 0-9 and -, and begins with a letter",
                    "choose another name");
        }
        return kind;
    }

    private static String printable(String text) {
        String shown = text.length() > 80 ? text.substring(0, 80) + "…" : text;
        return shown.replaceAll("\\p{Cntrl}", "?");
    }
}
