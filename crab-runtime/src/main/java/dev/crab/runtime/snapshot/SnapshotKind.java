package dev.crab.runtime.snapshot;

/** The ways to take snapshots of sandboxes' files. They hold the same; they differ in what they need and what they cost. */
public enum SnapshotKind {
    /** What the data directory has already, else the first of the others that the host can. */
    AUTO,
    /** Subvolumes of btrfs, in a loop-mounted file where the data directory is not on btrfs. A snapshot costs the same whatever it holds. */
    BTRFS,
    /** Copies that share blocks (FICLONE: xfs, and others). A snapshot costs by the number of files. */
    REFLINK,
    /** Whole copies, on any file system that an overlay can write to. A snapshot costs by the number of files and their bytes. */
    COPY
}
