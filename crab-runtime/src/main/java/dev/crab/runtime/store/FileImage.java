package dev.crab.runtime.store;

import java.util.Objects;

/**
 * The files' part of a checkpoint.
 *
 * @param generation the checkpoint that this snapshot was taken for
 * @param snapshotId the snapshot in the snapshotter
 * @param fileTable what the snapshot must hold, entry by entry
 * @param entries number of entries of that table
 */
public record FileImage(long generation, String snapshotId, ObjectRef fileTable, long entries) {
    public FileImage {
        Objects.requireNonNull(snapshotId, "snapshotId");
        Objects.requireNonNull(fileTable, "fileTable");
        if (entries < 0) {
            throw new IllegalArgumentException(entries + " entries cannot be");
        }
    }
}
