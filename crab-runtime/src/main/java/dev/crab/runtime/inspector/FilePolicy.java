package dev.crab.runtime.inspector;

import java.nio.file.FileSystems;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.PatternSyntaxException;

/**
 * Which changes of files a user does not want a turn to be saved for. Such a change is kept all the same with whatever is saved next; and
 * it does count where a process that lives on holds the file, since a newer file beside an older process would not be true. Immutable.
 *
 * @param ignored globs of paths from the sandbox's root, as {@link java.nio.file.FileSystem#getPathMatcher} takes them: {@code /root/*.log}.
 *     One that ends with a slash and two asterisks stands for the directory itself, too
 * @param ignoresRewrites whether a file counts as unchanged that was written anew with the same content, owner, mode and attributes. Its
 *     modification time is then lost by a recovery; tools that build by it may build once more
 */
public record FilePolicy(List<String> ignored, boolean ignoresRewrites) {
    /** Every change counts. */
    public static final FilePolicy EVERYTHING = new FilePolicy(List.of(), false);

    /** @throws IllegalArgumentException if a glob cannot be read or does not begin with a slash */
    public FilePolicy {
        ignored = List.copyOf(ignored);
        for (String glob : ignored) {
            if (!glob.startsWith("/")) {
                throw new IllegalArgumentException("\"" + glob + "\" does not begin with /");
            }
            try {
                matcher(glob);
            } catch (PatternSyntaxException e) {
                throw new IllegalArgumentException("\"" + glob + "\" is no glob: " + e.getMessage(), e);
            }
        }
    }

    /** The globs made ready to be asked many times. */
    Ignored compiled() {
        List<PathMatcher> matchers = new ArrayList<>();
        for (String glob : ignored) {
            matchers.add(matcher(glob));
            if (glob.endsWith("/**") && glob.length() > 3) {
                matchers.add(matcher(glob.substring(0, glob.length() - 3)));
            }
        }
        return path -> {
            try {
                Path asked = Path.of(path);
                return matchers.stream().anyMatch(matcher -> matcher.matches(asked));
            } catch (InvalidPathException e) {
                return false; // a name that this JVM's encoding cannot hold
            }
        };
    }

    private static PathMatcher matcher(String glob) {
        return FileSystems.getDefault().getPathMatcher("glob:" + glob);
    }

    /** Tells ignored paths. */
    @FunctionalInterface
    interface Ignored {
        boolean test(String path);
    }
}
