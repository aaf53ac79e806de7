package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.DraftDirectory;
import dev.crab.runtime.os.Filesystems;
import dev.crab.runtime.os.Mounts;
import dev.crab.runtime.os.OwnFiles;
import dev.crab.runtime.os.TreeCopy;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Snapshots by copies of the upper directory in {@code <data>/trees}: of blocks where files can share them ({@link SnapshotKind#REFLINK}),
 * of bytes everywhere else ({@link SnapshotKind#COPY}). The caller holds the volume still while one is taken, or it is not of one instant.
 *
 * <p>Each is made in {@code unfinished/} and renamed when it is whole, so that one that a crash cut short is never seen by its name, and
 * goes when the data directory is opened next or the same name is made again. Snapshots are read through a read-only mount.
 *
 * <p>Files that did not change are not shared between snapshots as hard links: their times do not tell whether a mapped page was
 * written, and a link more would change what the file table compares. The work directory is not copied: an overlay makes its own anew.
 */
final class TreeSnapshotter implements Snapshotter {
    private final SnapshotKind kind;
    private final TreeCopy.Content content;
    private final Path volumes;
    private final Path snapshots;
    private final Path readable;
    private final Path unfinished;

    private TreeSnapshotter(SnapshotKind kind, Path home) {
        this.kind = kind;
        this.content = kind == SnapshotKind.REFLINK ? TreeCopy.Content.CLONE : TreeCopy.Content.COPY;
        this.volumes = home.resolve("sandboxes");
        this.snapshots = home.resolve("snapshots");
        this.readable = home.resolve("read");
        this.unfinished = home.resolve("unfinished");
    }

    /**
     * Opens the snapshotter of a data directory; makes what is missing. Safe beside other processes that do the same.
     *
     * @param kind REFLINK or COPY
     * @throws CrabException DATA_DIRECTORY_UNUSABLE, also where the directory has snapshots of another kind; REFLINK_MISSING; DISK_FULL
     */
    static TreeSnapshotter open(Path data, SnapshotKind kind) {
        Path real = DataLock.prepare(data);
        return DataLock.exclusively(real, () -> {
            SnapshotHolding.check(real, kind);
            if (kind == SnapshotKind.REFLINK && !TreeCopy.canClone(real)) {
                throw noReflinks(real);
            }
            Path home = real.resolve("trees");
            TreeSnapshotter snapshotter = new TreeSnapshotter(kind, home);
            OwnFiles.directory(home);
            SnapshotHolding.claim(real, kind);
            for (Path directory :
                    List.of(snapshotter.volumes, snapshotter.snapshots, snapshotter.readable, snapshotter.unfinished)) {
                OwnFiles.directory(directory);
            }
            Mounts.readOnly(snapshotter.snapshots, snapshotter.readable);
            for (String waste : SnapshotNames.unfinished(snapshotter.unfinished)) {
                DraftDirectory.sweep(snapshotter.unfinished.resolve(waste));
            }
            return snapshotter;
        });
    }

    /** Unmounts what {@link #open} mounted. */
    static void release(Path data) throws IOException {
        Path readable = data.resolve("trees").resolve("read");
        if (Mounts.list().stream().anyMatch(mount -> mount.point().equals(readable))) {
            Filesystems.unmount(readable);
        }
    }

    static CrabException noReflinks(Path data) {
        return CrabException.of(
                ErrorCode.REFLINK_MISSING,
                "snapshots of sandboxes' files cannot be taken by reflinks",
                "the file system of " + data + " cannot share blocks between files",
                "set crab.snapshotter to auto, or crab.data to a directory on xfs or btrfs");
    }

    @Override
    public String provider() {
        return kind.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public Volume createVolume(String id) {
        return make(volumes, "v-", id, "volume " + id, draft -> SnapshotNames.fill(new Volume(id, draft)), Volume::new);
    }

    @Override
    public Volume createVolume(String id, Snapshot from) {
        Source source = source(from);
        return make(
                volumes,
                "v-",
                id,
                "volume " + id,
                draft -> {
                    source.copyTo(draft);
                    SnapshotNames.makeWork(new Volume(id, draft));
                },
                Volume::new);
    }

    @Override
    public void prepare(Volume volume) {
        if (kind != SnapshotKind.REFLINK) {
            return;
        }
        // Blocks can be shared only once they are written, and the kernel writes all of them far faster than one file
        // after the other.
        try {
            Filesystems.sync(volumes.resolve(SnapshotNames.valid(volume.id())));
        } catch (IOException e) {
            throw CrabException.io("volume " + volume.id() + " cannot be written to disk", e);
        }
    }

    @Override
    public Snapshot snapshot(Volume volume, String id) {
        Path upper = volumes.resolve(SnapshotNames.valid(volume.id())).resolve("upper");
        return snapshot(
                draft -> TreeCopy.copy(upper, draft, "upper", content),
                "snapshot " + id + " of volume " + volume.id(),
                id);
    }

    @Override
    public Snapshot copy(Snapshot from, String id) {
        return snapshot(source(from), "snapshot " + id + " of snapshot " + from.id(), id);
    }

    private Snapshot snapshot(Source source, String what, String id) {
        make(
                snapshots,
                "s-",
                id,
                what,
                draft -> {
                    source.copyTo(draft);
                    SnapshotStamp.complete(draft, id);
                },
                Snapshot::new);
        return readable(id);
    }

    private interface Source {
        void copyTo(Path draft) throws IOException;
    }

    /** What a snapshot holds, which may be deleted meanwhile. */
    private Source source(Snapshot from) {
        find(from.id());
        Path upper = snapshots.resolve(from.id()).resolve("upper");
        return draft -> {
            try {
                TreeCopy.copy(upper, draft, "upper", content);
            } catch (NoSuchFileException e) {
                throw SnapshotNames.missing(from.id(), e);
            }
        };
    }

    private interface Content {
        void make(Path draft) throws IOException;
    }

    private interface Result<T> {
        T of(String id, Path directory);
    }

    private <T> T make(Path parent, String prefix, String id, String what, Content made, Result<T> result) {
        Path target = parent.resolve(SnapshotNames.valid(id));
        try (DraftDirectory draft = DraftDirectory.begin(unfinished.resolve(prefix + id))) {
            // Before the work, to save it; whoever is first anyway, the renaming tells.
            if (Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
                throw SnapshotNames.taken(what, null);
            }
            made.make(draft.path());
            publish(draft, target, what);
            return result.of(id, target);
        } catch (IOException e) {
            throw CrabException.io(what + " cannot be made", e);
        }
    }

    private static void publish(DraftDirectory draft, Path target, String what) throws IOException {
        try {
            draft.publish(target);
        } catch (FileAlreadyExistsException e) {
            throw SnapshotNames.taken(what, e);
        }
    }

    @Override
    public void makeDurable(Snapshot snapshot) {
        Path directory = readable(find(snapshot.id()).id()).directory();
        Path written = snapshots.resolve(snapshot.id());
        try {
            if (!SnapshotStamp.isDurable(directory, snapshot.id())) {
                Filesystems.sync(written);
                SnapshotStamp.durable(written, snapshot.id());
            }
        } catch (IOException e) {
            throw CrabException.io("snapshot " + snapshot.id() + " cannot be written to disk", e);
        }
    }

    @Override
    public Snapshot find(String id) {
        Snapshot snapshot = readable(id);
        try {
            SnapshotStamp.check(snapshot.directory(), id);
            return snapshot;
        } catch (NoSuchFileException e) {
            throw SnapshotNames.missing(id, e);
        } catch (IOException e) {
            throw CrabException.io("snapshot " + id + " cannot be looked up", e);
        }
    }

    @Override
    public List<String> snapshots() {
        return SnapshotNames.list(snapshots);
    }

    @Override
    public List<String> volumes() {
        return SnapshotNames.list(volumes);
    }

    @Override
    public void delete(Snapshot snapshot) {
        delete(snapshots, "s-", snapshot.id());
    }

    @Override
    public void delete(Volume volume) {
        delete(volumes, "v-", volume.id());
    }

    @Override
    public void close() {
        // Nothing is held open. The mount stays: other processes may be using it.
    }

    private void delete(Path parent, String prefix, String id) {
        Path target = parent.resolve(SnapshotNames.valid(id));
        // Under the name of its making, so that what a killed maker left goes, too.
        try (DraftDirectory waste = DraftDirectory.begin(unfinished.resolve(prefix + id))) {
            waste.take(target);
        } catch (IOException e) {
            throw CrabException.io(target + " cannot be deleted", e);
        }
    }

    private Snapshot readable(String id) {
        return new Snapshot(id, readable.resolve(SnapshotNames.valid(id)));
    }
}
