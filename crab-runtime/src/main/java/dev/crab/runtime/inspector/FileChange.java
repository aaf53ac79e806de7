package dev.crab.runtime.inspector;

import dev.crab.runtime.os.RootedTree;
import java.util.Set;

/**
 * One path whose file is not what it was.
 *
 * @param path in {@link RootedTree}'s encoding
 * @param kind how it differs
 * @param subtree whether everything below the path is concerned too
 * @param counts whether it is a change by the user's {@link FilePolicy}
 * @param inodes the numbers under which a process may hold the file: before, after, and in the image
 */
record FileChange(String path, Kind kind, boolean subtree, boolean counts, Set<Long> inodes) {
    enum Kind {
        ADDED,
        CHANGED,
        REWRITTEN,
        REPLACED,
        REMOVED
    }

    @Override
    public String toString() {
        return kind.name().toLowerCase(java.util.Locale.ROOT) + " " + RootedTree.display(path);
    }

    /** Whether a process with these holdings holds this file, or cannot be told not to. */
    boolean isHeldBy(Holdings holdings) {
        if (!holdings.complete() || holdings.watches()) {
            return true;
        }
        if (holdings.paths().contains(path)) {
            return true;
        }
        if (subtree && holdings.paths().stream().anyMatch(held -> held.startsWith(path + "/"))) {
            return true;
        }
        return inodes.stream().anyMatch(holdings.inodes()::contains);
    }
}
