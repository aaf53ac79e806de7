package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.os.Btrfs;
import dev.crab.runtime.os.OwnFiles;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/**
 * Snapshots by btrfs: each volume is a subvolume, each snapshot a read-only snapshot of one.
 *
 * <p>The kernel commits a transaction for each snapshot, after it has written what the volume's files had pending; so a snapshot is on
 * the device when the call that takes it returns. Where the btrfs lies in a file, {@link LoopBtrfs} made it so that a flush reaches the
 * disk below.
 *
 * <p>Names are those of {@link Snapshot#id}; nothing is ever opened by a name that came out of a sandbox.
 */
public final class BtrfsSnapshotter implements Snapshotter {
    /** Bytes that must stay free below the file that holds a loop-mounted btrfs, so that what it promises can be written: 64 MiB. */
    static final long RESERVE = 64L << 20;

    private final BtrfsHome home;
    private final Path volumes;
    private final Path snapshots;

    private BtrfsSnapshotter(BtrfsHome home) {
        this.home = home;
        this.volumes = home.directory().resolve("sandboxes");
        this.snapshots = home.directory().resolve("snapshots");
    }

    /**
     * Opens the snapshotter of a data directory: {@code <data>/btrfs} itself where the data directory is on btrfs, else a btrfs in the
     * sparse file {@code <data>/btrfs.img}, mounted there. Makes what is missing. Safe beside other processes that do the same.
     *
     * @param data made if missing
     * @param imageBytes size of the sparse file if one has to be made; bounded by 80 % of what is free below it
     * @throws CrabException DATA_DIRECTORY_UNUSABLE, DISK_FULL, BTRFS_MISSING, NOT_ROOT or IO_FAILED
     */
    public static BtrfsSnapshotter open(Path data, long imageBytes) {
        BtrfsSnapshotter snapshotter = new BtrfsSnapshotter(BtrfsHome.open(data, imageBytes));
        try {
            OwnFiles.directory(snapshotter.volumes);
            OwnFiles.directory(snapshotter.snapshots);
        } catch (IOException e) {
            throw CrabException.io("the btrfs of " + data + " cannot be laid out", e);
        }
        return snapshotter;
    }

    /** As {@link #open(Path, long)} with at most 64 GiB. */
    public static BtrfsSnapshotter open(Path data) {
        return open(data, BtrfsHome.DEFAULT_IMAGE_BYTES);
    }

    @Override
    public String provider() {
        return home.looped() ? "btrfs-loop" : "btrfs";
    }

    @Override
    public Volume createVolume(String id) {
        Volume volume = volume(id);
        try {
            home.makeOnceThereIsRoom(RESERVE, () -> Btrfs.createSubvolume(volumes, id));
            Files.setPosixFilePermissions(volume.directory(), SnapshotNames.PRIVATE);
            SnapshotNames.fill(volume);
            return volume;
        } catch (FileAlreadyExistsException e) {
            throw SnapshotNames.taken("volume " + id, e);
        } catch (IOException e) {
            throw home.failed("volume " + id + " cannot be made", e);
        }
    }

    @Override
    public Volume createVolume(String id, Snapshot from) {
        Volume volume = volume(id);
        Snapshot source = find(from.id());
        try {
            home.makeOnceThereIsRoom(RESERVE, () -> Btrfs.snapshot(source.directory(), volumes, id, false));
            return volume;
        } catch (FileAlreadyExistsException e) {
            throw SnapshotNames.taken("volume " + id, e);
        } catch (NoSuchFileException e) {
            throw SnapshotNames.missing(from.id(), e);
        } catch (IOException e) {
            throw home.failed("volume " + id + " cannot be made from snapshot " + from.id(), e);
        }
    }

    @Override
    public Snapshot snapshot(Volume volume, String id) {
        return snapshotOf(volume(volume.id()).directory(), "volume " + volume.id(), id);
    }

    @Override
    public Snapshot copy(Snapshot from, String id) {
        return snapshotOf(find(from.id()).directory(), "snapshot " + from.id(), id);
    }

    private Snapshot snapshotOf(Path source, String what, String id) {
        Snapshot snapshot = snapshotOf(id);
        try {
            home.makeIfThereIsRoom(RESERVE, () -> Btrfs.snapshot(source, snapshots, id, true));
            return snapshot;
        } catch (FileAlreadyExistsException e) {
            throw SnapshotNames.taken("snapshot " + id, e);
        } catch (IOException e) {
            throw home.failed("snapshot " + id + " of " + what + " cannot be taken", e);
        }
    }

    @Override
    public void makeDurable(Snapshot snapshot) {
        Snapshot known = find(snapshot.id());
        try {
            Btrfs.sync(known.directory());
        } catch (IOException e) {
            throw home.failed("snapshot " + snapshot.id() + " cannot be written to disk", e);
        }
    }

    @Override
    public Snapshot find(String id) {
        Snapshot snapshot = snapshotOf(id);
        try {
            if (!Btrfs.isReadOnly(snapshot.directory())) {
                throw SnapshotNames.unusable(
                        id, snapshot.directory() + " can be written to, so that it may no longer be what was saved");
            }
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
        delete(snapshots, snapshotOf(snapshot.id()).id());
    }

    @Override
    public void delete(Volume volume) {
        Volume known = volume(volume.id());
        delete(volumes, known.id());
        delete(volumes, known.scratch().getFileName().toString());
    }

    @Override
    public void recover() {
        home.recover();
    }

    @Override
    public void close() {
        // Nothing is held open. The mount stays: other processes may be using it.
    }

    private static void delete(Path parent, String name) {
        try {
            Btrfs.deleteSubvolume(parent, name);
        } catch (NoSuchFileException e) {
            // Gone already, which is what was asked for.
        } catch (IOException e) {
            throw CrabException.io(parent.resolve(name) + " cannot be deleted", e);
        }
    }

    private Volume volume(String id) {
        return new Volume(id, volumes.resolve(SnapshotNames.valid(id)));
    }

    private Snapshot snapshotOf(String id) {
        return new Snapshot(id, snapshots.resolve(SnapshotNames.valid(id)));
    }
}
