package dev.crab.runtime.inspector;

import dev.crab.runtime.os.Btrfs;
import dev.crab.runtime.os.RootedTree;
import dev.crab.runtime.os.RootedTree.Node;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The files of a sandbox's writable layer as they were at the last rebase, compared with what they are now. Not thread-safe.
 *
 * <p>What counts: names, types, modes, owners, sizes, modification times, links, extended attributes, inode flags and which inode a name
 * leads to. Not the times of directories, and not access times. A difference in the change time alone counts where a write was seen
 * (written, then {@code touch -d}), and not otherwise (chmod there and back). The change time is the kernel's own, so a file that has
 * all of this unchanged is unchanged, save for what happened within the clock's grain of the last scan: there, seen writes count.
 *
 * <p>A file that is new in the layer is compared with the image's: a copy-up that changed nothing is no change, and neither is a
 * whiteout over nothing. The comparison needs the image's file to have been visible before.
 */
final class UpperFiles implements AutoCloseable {
    /**
     * More files than this in the layer, or with longer paths than {@link RootedTree#MAX_PATHS}, are not tracked: every turn that may have
     * changed files then counts as one that did.
     */
    static final int MAX_FILES = 500_000;

    /** A change this short before a scan may bear the same change time as one after it (the coarse clock ticks every 1 to 10 ms). */
    static final long CLOCK_GRAIN_NANOS = 20_000_000;

    /** Contents are digested of files up to this size, and of so many bytes at one scan; larger ones count when they are written. */
    private static final long MAX_DIGESTED = 1L << 20;

    private static final long MAX_DIGESTED_AT_ONCE = 64L << 20;

    /** Copy-ups larger than this are told from changed files by the seen writes alone. */
    private static final long MAX_COMPARED = 64L << 20;

    /** Walking so many files takes as long as the snapshot that asking takes (docs/inspector.md has the figures). */
    private static final int WALKED = 5_000;

    /** One file of so many may have changed and it is still cheaper to look at each than to walk. */
    private static final int WORTH = 4;

    private final @Nullable ChangedInodes inodes;
    private final int walked;
    private final RootedTree upper;
    private final RootedTree lower;
    private final FilePolicy policy;
    private final FilePolicy.Ignored ignored;
    private long digested;
    private @Nullable Map<String, LayerFile> baseline = new HashMap<>();
    private @Nullable Map<String, LayerFile> current = new HashMap<>();

    /** What changed since {@link #current} was read changed in this transaction of btrfs or later. */
    private long since = ChangedInodes.UNKNOWN;

    private long updates;
    private long baselineTime;
    private long currentTime;

    UpperFiles(InspectionTarget target, FilePolicy policy) {
        this(target, policy, WALKED);
    }

    /** @param walked up to so many files the layer is walked rather than that btrfs is asked */
    UpperFiles(InspectionTarget target, FilePolicy policy, int walked) {
        this.policy = policy;
        this.ignored = policy.compiled();
        this.walked = walked;
        this.inodes = ChangedInodes.of(target);
        this.upper = RootedTree.open(target.upper());
        try {
            this.lower = RootedTree.open(target.lower());
        } catch (RuntimeException e) {
            this.upper.close();
            throw e;
        }
    }

    /** As {@link #scan(int)}, without knowing how many. */
    void scan() {
        scan(0);
    }

    /**
     * Reads the layer anew: what changed of it where that can be told, else all of it.
     *
     * @param touched about how many of its files something happened to
     */
    void scan(int touched) {
        long time = nanosSinceEpoch();
        digested = 0;
        long from = since;
        since = ChangedInodes.UNKNOWN; // should this fail halfway
        ChangedInodes.Answer answer = ask(from, touched);
        if (answer == null || !update(answer)) {
            walk(answer);
        }
        currentTime = time;
    }

    /** Asks btrfs what changed in that transaction or later; null where the layer has to be walked. */
    private ChangedInodes.@Nullable Answer ask(long from, int touched) {
        return inodes == null || current == null || current.size() <= walked || touched >= current.size() / WORTH
                ? null
                : inodes.since(from, current.size() / WORTH);
    }

    /** Reads all of the layer; an answer that was given before says what will have changed since. */
    private void walk(ChangedInodes.@Nullable Answer answer) {
        long next = answer != null ? answer.next() : inodes == null ? ChangedInodes.UNKNOWN : inodes.now();
        Map<String, Node> nodes = upper.scan(MAX_FILES);
        if (nodes == null) {
            current = null;
            return;
        }
        Map<String, LayerFile> known = current == null ? Map.of() : current;
        Map<String, LayerFile> files = new HashMap<>(nodes.size() * 2);
        boolean nested = false;
        for (Map.Entry<String, Node> found : nodes.entrySet()) {
            Node node = found.getValue();
            LayerFile before = known.get(found.getKey());
            files.put(found.getKey(), before != null && isStill(before, node) ? before : entry(found.getKey(), node));
            nested |= node.inode() <= Btrfs.FIRST_INODE;
        }
        current = files;
        // A subvolume within the layer would be passed over.
        since = nested ? ChangedInodes.UNKNOWN : next;
    }

    /** Reads what btrfs says has changed; returns false if the layer has to be walked. */
    private boolean update(ChangedInodes.Answer answer) {
        Map<String, LayerFile> known = current;
        Set<Long> changed = answer.inodes();
        if (known == null || changed == null) {
            return false;
        }
        LayerUpdate.Result update = LayerUpdate.of(upper, known, changed, known.size() / WORTH);
        if (update == null || known.size() + update.read().size() > MAX_FILES) {
            return false;
        }
        Map<String, LayerFile> files = new HashMap<>(known);
        files.keySet().removeAll(update.gone());
        update.read().forEach((path, node) -> files.put(path, entry(path, node)));
        if (files.keySet().stream().mapToLong(String::length).sum() > RootedTree.MAX_PATHS) {
            return false;
        }
        current = files;
        since = answer.next();
        updates++;
        return true;
    }

    /** What the last scan found; null if there are too many files. */
    @Nullable
    Map<String, LayerFile> current() {
        return current;
    }

    /** How often a walk was spared. */
    long updates() {
        return updates;
    }

    /** Whether what the last scan read of a file is still so. Attributes have a change time; contents do, too, but for its grain. */
    private boolean isStill(LayerFile before, Node node) {
        return before.node().equals(node)
                && (before.content().isEmpty() || node.changed() < currentTime - CLOCK_GRAIN_NANOS);
    }

    /** What the last scan found is the new baseline. */
    void rebase() {
        baseline = current;
        baselineTime = currentTime;
    }

    /**
     * Compares the last scan with the baseline.
     *
     * @param written inodes of the layer that were seen to be written since the baseline
     * @param anyWritten whether any file may have been written unseen
     * @return null if it cannot be told because there are too many files
     */
    @Nullable
    List<FileChange> changes(Set<Long> written, boolean anyWritten) {
        Map<String, LayerFile> before = baseline;
        Map<String, LayerFile> after = current;
        if (before == null || after == null) {
            return null;
        }
        List<FileChange> changes = new ArrayList<>();
        after.forEach((path, entry) -> {
            LayerFile old = before.get(path);
            FileChange.Kind kind = old == null
                    ? comparedWithImage(path, entry, before, written, anyWritten)
                    : compared(old, entry, written, anyWritten);
            if (kind != null) {
                changes.add(change(path, kind, old, entry));
            }
        });
        before.forEach((path, entry) -> {
            if (!after.containsKey(path)) {
                changes.add(change(path, FileChange.Kind.REMOVED, entry, null));
            }
        });
        return changes;
    }

    @Override
    public void close() {
        upper.close();
        lower.close();
    }

    private FileChange.@Nullable Kind compared(LayerFile old, LayerFile entry, Set<Long> written, boolean anyWritten) {
        Node a = old.node();
        Node b = entry.node();
        boolean seen = anyWritten || written.contains(b.inode());
        if (a.equals(b)) {
            boolean racy = b.type() == RootedTree.REGULAR && b.changed() >= baselineTime - CLOCK_GRAIN_NANOS;
            return racy && seen ? FileChange.Kind.REWRITTEN : null;
        }
        if (a.inode() != b.inode() || a.type() != b.type()) {
            return isWhiteout(b) ? FileChange.Kind.REMOVED : FileChange.Kind.REPLACED;
        }
        if (!sameMetadata(a, b) || (a.links() != b.links() && b.type() != RootedTree.DIRECTORY)) {
            return FileChange.Kind.CHANGED;
        }
        if (a.flags() != b.flags() || !old.attributes().equals(entry.attributes())) {
            return FileChange.Kind.CHANGED;
        }
        return seen && b.type() != RootedTree.DIRECTORY ? FileChange.Kind.REWRITTEN : null;
    }

    private FileChange.@Nullable Kind comparedWithImage(
            String path, LayerFile entry, Map<String, LayerFile> before, Set<Long> written, boolean anyWritten) {
        Node below = imageWasVisible(path, before) ? lower.stat(path) : null;
        if (isWhiteout(entry.node())) {
            return below == null ? null : FileChange.Kind.REMOVED;
        }
        if (below == null) {
            return FileChange.Kind.ADDED;
        }
        if (entry.opaque() || below.type() != entry.node().type()) {
            return FileChange.Kind.REPLACED;
        }
        boolean seen = anyWritten || written.contains(entry.node().inode());
        return sameMetadata(below, entry.node())
                        && lower.attributes(path, UpperFiles::counts).equals(entry.attributes())
                        && sameBytes(path, entry.node(), seen)
                ? null
                : FileChange.Kind.CHANGED;
    }

    private boolean sameBytes(String path, Node node, boolean seen) {
        return switch (node.type()) {
            case RootedTree.REGULAR -> node.size() > MAX_COMPARED ? !seen : upper.sameContent(path, lower);
            case RootedTree.SYMLINK -> {
                String target = upper.link(path);
                yield target != null && target.equals(lower.link(path));
            }
            default -> true;
        };
    }

    private static boolean sameMetadata(Node a, Node b) {
        return a.mode() == b.mode()
                && a.uid() == b.uid()
                && a.gid() == b.gid()
                && a.device() == b.device()
                && (a.type() == RootedTree.DIRECTORY || (a.size() == b.size() && a.modified() == b.modified()));
    }

    /** Whether the image's file of that path showed through the layer at the baseline. */
    private static boolean imageWasVisible(String path, Map<String, LayerFile> before) {
        for (int end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
            LayerFile parent = before.get(path.substring(0, end));
            if (parent != null && (parent.opaque() || parent.node().type() != RootedTree.DIRECTORY)) {
                return false;
            }
        }
        return true;
    }

    private FileChange change(String path, FileChange.Kind kind, @Nullable LayerFile old, @Nullable LayerFile entry) {
        Set<Long> inodes = new HashSet<>();
        boolean subtree = false;
        for (Node node : new @Nullable Node[] {
            old == null ? null : old.node(), entry == null ? null : entry.node(), lower.stat(path)
        }) {
            if (node != null) {
                subtree |= node.type() == RootedTree.DIRECTORY;
                if (node.type() != RootedTree.DIRECTORY) {
                    inodes.add(node.inode());
                }
            }
        }
        boolean gone = kind == FileChange.Kind.REMOVED || kind == FileChange.Kind.REPLACED;
        boolean counts = !ignored.test(path) && !(policy.ignoresRewrites() && isRewrite(path, old, entry));
        return new FileChange(path, kind, subtree && gone, counts, inodes);
    }

    /** Whether a file differs in nothing but its times and the inode that holds it. */
    private boolean isRewrite(String path, @Nullable LayerFile old, @Nullable LayerFile entry) {
        if (entry == null || entry.node().type() != RootedTree.REGULAR) {
            return false;
        }
        if (old != null) {
            // With all its times the same, it was seen to be written within their grain: what was read of it may be
            // older.
            return !old.node().equals(entry.node())
                    && sameBut(old.node(), entry.node())
                    && old.node().links() == entry.node().links()
                    && old.node().flags() == entry.node().flags()
                    && old.attributes().equals(entry.attributes())
                    && !entry.content().isEmpty()
                    && entry.content().equals(old.content());
        }
        Node below = lower.stat(path);
        return below != null
                && sameBut(below, entry.node())
                && entry.node().links() == 1
                && lower.attributes(path, UpperFiles::counts).equals(entry.attributes())
                && upper.sameContent(path, lower);
    }

    /** The same but for the times. */
    private static boolean sameBut(Node a, Node b) {
        return a.type() == b.type()
                && a.mode() == b.mode()
                && a.uid() == b.uid()
                && a.gid() == b.gid()
                && a.size() == b.size();
    }

    private String content(String path, Node node) {
        if (!policy.ignoresRewrites()
                || node.type() != RootedTree.REGULAR
                || node.size() > MAX_DIGESTED
                || digested + node.size() > MAX_DIGESTED_AT_ONCE) {
            return "";
        }
        digested += node.size();
        return upper.digest(path);
    }

    private LayerFile entry(String path, Node node) {
        String attributes = upper.attributes(path, UpperFiles::counts);
        boolean opaque = node.type() == RootedTree.DIRECTORY
                && !attributes.isEmpty()
                && !upper.attributes(path, "trusted.overlay.opaque"::equals).isEmpty();
        return new LayerFile(node, attributes, opaque, content(path, node));
    }

    /** The overlay's book-keeping is no content, save for what hides or moves the image's files. */
    private static boolean counts(String attribute) {
        return !attribute.startsWith("trusted.overlay.")
                || attribute.equals("trusted.overlay.opaque")
                || attribute.equals("trusted.overlay.redirect")
                || attribute.equals("trusted.overlay.metacopy")
                || attribute.equals("trusted.overlay.whiteout");
    }

    private static boolean isWhiteout(Node node) {
        return node.type() == RootedTree.CHARACTER_DEVICE && node.device() == 0;
    }

    private static long nanosSinceEpoch() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }
}
