package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.TreeCopy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Opens the snapshotter that a data directory has, or that the host can. Thread-safe. */
public final class Snapshotters {
    private Snapshotters() {}

    /**
     * What {@link #open} opens.
     *
     * @param kind never AUTO
     * @param why in words that complete "by … because"
     */
    public record Choice(SnapshotKind kind, String why) {}

    /**
     * Opens the snapshotter of a data directory; makes what is missing. Safe beside other processes that do the same.
     *
     * @param data made if missing
     * @throws CrabException DATA_DIRECTORY_UNUSABLE, also where the directory has snapshots of another kind than was asked for;
     *     BTRFS_MISSING, REFLINK_MISSING, DISK_FULL, FORMAT_UNKNOWN, IO_FAILED
     */
    public static Snapshotter open(Path data, SnapshotKind wanted) {
        Path real = DataLock.prepare(data);
        SnapshotKind kind = choose(real, real, wanted).kind();
        return kind == SnapshotKind.BTRFS ? BtrfsSnapshotter.open(data) : TreeSnapshotter.open(data, kind);
    }

    /**
     * Unmounts what {@link #open} mounted for that data directory; stored data stays. Fails with DATA_DIRECTORY_UNUSABLE while anything
     * in it is in use. Idempotent.
     */
    public static void release(Path data) {
        if (Files.isDirectory(data)) {
            Path real = DataLock.prepare(data);
            DataLock.exclusively(real, () -> {
                new LoopBtrfs(real).detach();
                TreeSnapshotter.release(real);
                return real;
            });
        }
    }

    /**
     * Which kind {@link #open} would use, and why. Makes nothing.
     *
     * @param existing the data directory or, where it does not exist, the nearest directory above that does
     * @throws CrabException as {@link #open}
     */
    public static Choice choose(Path data, Path existing, SnapshotKind wanted) {
        Optional<SnapshotKind> held = SnapshotHolding.of(data);
        if (wanted != SnapshotKind.AUTO) {
            SnapshotHolding.check(data, wanted);
        }
        SnapshotKind fixed = wanted == SnapshotKind.AUTO ? held.orElse(SnapshotKind.AUTO) : wanted;
        String source = held.isPresent() ? data + " has its snapshots so" : "crab.snapshotter says so";
        try {
            return switch (fixed) {
                case AUTO -> possible(data, existing);
                case BTRFS -> withBtrfs(data, existing, source);
                case REFLINK -> withReflinks(existing, source);
                case COPY -> new Choice(SnapshotKind.COPY, source);
            };
        } catch (IOException e) {
            throw CrabException.io("what the file system of " + existing + " can do cannot be told", e);
        }
    }

    private static Choice possible(Path data, Path existing) throws IOException {
        List<String> lacks = BtrfsHome.lacks(existing);
        if (lacks.isEmpty()) {
            return new Choice(SnapshotKind.BTRFS, BtrfsHome.where(data, existing));
        }
        String without = "there is no btrfs (missing: " + String.join(", ", lacks) + "), and files in " + existing;
        return TreeCopy.canClone(existing)
                ? new Choice(SnapshotKind.REFLINK, without + " can share blocks")
                : new Choice(SnapshotKind.COPY, without + " cannot share blocks");
    }

    private static Choice withBtrfs(Path data, Path existing, String source) throws IOException {
        List<String> lacks = BtrfsHome.lacks(existing);
        if (!lacks.isEmpty()) {
            throw CrabException.of(
                    ErrorCode.BTRFS_MISSING,
                    "snapshots of sandboxes' files cannot be taken by btrfs",
                    "missing: " + String.join(", ", lacks),
                    "run ./crab setup; for a new data directory, crab.snapshotter can be auto");
        }
        return new Choice(SnapshotKind.BTRFS, BtrfsHome.where(data, existing) + ", and " + source);
    }

    private static Choice withReflinks(Path existing, String source) throws IOException {
        if (!TreeCopy.canClone(existing)) {
            throw TreeSnapshotter.noReflinks(existing);
        }
        return new Choice(SnapshotKind.REFLINK, source);
    }
}
