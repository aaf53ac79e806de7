package dev.crab.runtime.inspector;

import dev.crab.runtime.os.Btrfs;
import dev.crab.runtime.os.RootedTree;
import dev.crab.runtime.os.RootedTree.Node;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds what has to be read again of a layer of which all is known but what happened to some inodes. The result is what a walk would find:
 * a name can only appear, vanish or lead elsewhere in a directory whose inode changed, and such a directory is listed again; a name whose
 * inode did not change has what is known of it; and a directory that a known name did not lead to before is walked whole.
 */
final class LayerUpdate {
    private final RootedTree upper;
    private final Map<String, LayerFile> known;
    private final Set<Long> changed;
    private final int limit;

    private final Map<String, Node> read = new HashMap<>();

    /** Known paths that no longer lead where they did: what was below them is not known any more. */
    private final Set<String> dropped = new HashSet<>();

    private boolean complete = true;

    private LayerUpdate(RootedTree upper, Map<String, LayerFile> known, Set<Long> changed, int limit) {
        this.upper = upper;
        this.known = known;
        this.changed = changed;
        this.limit = limit;
    }

    /**
     * @param read what was read again, by path; every path in it may be new or known
     * @param gone known paths that are no more
     */
    record Result(Map<String, Node> read, Set<String> gone) {}

    /**
     * Reads what has to be read.
     *
     * @param changed the inodes to which something happened since the layer was as it is known
     * @param limit most files to read
     * @return null if the layer has to be walked
     */
    static @Nullable Result of(RootedTree upper, Map<String, LayerFile> known, Set<Long> changed, int limit) {
        return new LayerUpdate(upper, known, changed, limit).run();
    }

    private @Nullable Result run() {
        List<String> directories = new ArrayList<>();
        List<String> others = new ArrayList<>();
        known.forEach((path, file) -> {
            if (changed.contains(file.node().inode())) {
                (file.node().type() == RootedTree.DIRECTORY ? directories : others).add(path);
            }
        });
        Node root = upper.stat("/");
        if (root == null) {
            return null;
        }
        if (changed.contains(root.inode())) {
            directories.add("/");
        }
        // Parents first: below one that leads elsewhere nothing known is left to look at.
        Collections.sort(directories);
        Map<String, List<String>> children = childrenOf(directories);
        for (String directory : directories) {
            if (!directory.equals("/") && isKnown(directory)) {
                look(directory);
            }
            if (isKnown(directory)) {
                list(directory, children.getOrDefault(directory, List.of()));
            }
        }
        for (String path : others) {
            if (isKnown(path) && !read.containsKey(path)) {
                look(path);
            }
        }
        return complete ? new Result(read, gone()) : null;
    }

    /** Looks at a path anew. */
    private void look(String path) {
        Node node = upper.stat(path);
        LayerFile before = known.get(path);
        boolean same = node != null
                && before != null
                && before.node().inode() == node.inode()
                && before.node().type() == node.type();
        if (!same && before != null) {
            dropped.add(path);
        }
        if (node == null) {
            return;
        }
        // A subvolume in the layer has inodes of its own, of which the answer knows nothing.
        complete &= node.inode() > Btrfs.FIRST_INODE && read.size() < limit;
        if (complete) {
            read.put(path, node);
            if (!same && node.type() == RootedTree.DIRECTORY) {
                complete = upper.scan(path, read, limit);
            }
        }
    }

    /** Lists a changed directory: names may have appeared, vanished, or lead to another inode. */
    private void list(String directory, List<String> children) {
        Map<String, Long> names = upper.names(directory, UpperFiles.MAX_FILES);
        if (names == null) {
            dropped.add(directory);
            return;
        }
        complete &= names.size() < UpperFiles.MAX_FILES;
        String prefix = directory.equals("/") ? directory : directory + "/";
        for (String child : children) {
            if (!names.containsKey(child.substring(prefix.length()))) {
                dropped.add(child);
            }
        }
        names.forEach((name, inode) -> {
            LayerFile before = known.get(prefix + name);
            if (complete && (before == null || before.node().inode() != inode)) {
                look(prefix + name);
            }
        });
    }

    private Map<String, List<String>> childrenOf(List<String> directories) {
        Map<String, List<String>> children = new HashMap<>();
        if (!directories.isEmpty()) {
            directories.forEach(directory -> children.put(directory, new ArrayList<>()));
            for (String path : known.keySet()) {
                List<String> siblings = children.get(parent(path));
                if (siblings != null) {
                    siblings.add(path);
                }
            }
        }
        return children;
    }

    /** Whether the path still leads where it did, as far as it has been looked at. */
    private boolean isKnown(String path) {
        if (dropped.isEmpty()) {
            return true;
        }
        for (String at = path; !at.equals("/"); at = parent(at)) {
            if (dropped.contains(at)) {
                return false;
            }
        }
        return true;
    }

    private Set<String> gone() {
        Set<String> gone = new HashSet<>();
        if (!dropped.isEmpty()) {
            for (String path : known.keySet()) {
                if (!read.containsKey(path) && !isKnown(path)) {
                    gone.add(path);
                }
            }
        }
        return gone;
    }

    private static String parent(String path) {
        int end = path.lastIndexOf('/');
        return end <= 0 ? "/" : path.substring(0, end);
    }
}
