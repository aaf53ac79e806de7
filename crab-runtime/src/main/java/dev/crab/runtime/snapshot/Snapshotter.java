package dev.crab.runtime.snapshot;

import java.util.List;

/**
 * Snapshots of sandboxes' writable layers. Implementations are thread-safe.
 *
 * <p>A snapshot is complete (hard links, extended attributes, whiteouts, opaque directories, fifos, sparse files) and atomic: it shows
 * the volume at one instant.
 */
public interface Snapshotter extends AutoCloseable {
    /** Stable name of the provider, for instance {@code btrfs}. */
    String provider();

    /** Makes an empty volume with {@code upper/} and {@code work/}; fails with NAME_TAKEN if it exists. */
    Volume createVolume(String id);

    /** Makes a writable volume that starts as the snapshot; fails with NAME_TAKEN if it exists, SNAPSHOT_MISSING if the source does not. */
    Volume createVolume(String id, Snapshot from);

    /**
     * Does what can be done before the sandbox is held still, so that {@link #snapshot} takes less time. Never needed, and best done right
     * before; the volume may be changing.
     */
    default void prepare(Volume volume) {}

    /**
     * Takes a read-only snapshot. This is the part that may run while the sandbox is frozen, so it is kept short: the snapshot is
     * readable when the call returns, but durable only after {@link #makeDurable}.
     */
    Snapshot snapshot(Volume volume, String id);

    /**
     * Makes a snapshot of a snapshot: the same state under another id, which stays when the first is deleted. Durable only after
     * {@link #makeDurable}; fails with NAME_TAKEN if the id exists, SNAPSHOT_MISSING if the source does not.
     */
    Snapshot copy(Snapshot from, String id);

    /** Returns once the snapshot would survive a power cut. */
    void makeDurable(Snapshot snapshot);

    /** The snapshot of that id; fails with SNAPSHOT_MISSING if there is none. */
    Snapshot find(String id);

    /** Ids of all snapshots, unordered. */
    List<String> snapshots();

    /** Ids of all volumes, unordered. */
    List<String> volumes();

    /** Deletes; does nothing if it is gone already. */
    void delete(Snapshot snapshot);

    /** Deletes, with its {@link Volume#scratch}; does nothing if it is gone already. Nothing may be mounted from it. */
    void delete(Volume volume);

    /**
     * Makes snapshots writable again after a full or failing disk below has made the kernel stop writing to them; does nothing where
     * nothing is wrong. For whoever opens a session, once nothing of a dead owner's sandbox is mounted any more.
     *
     * @throws dev.crab.runtime.error.CrabException DATA_DIRECTORY_UNUSABLE while other sandboxes are in the way
     */
    default void recover() {}

    /** Releases what the provider holds open in this process; stored data stays. */
    @Override
    void close();
}
