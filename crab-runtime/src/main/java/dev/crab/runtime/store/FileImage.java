package dev.crab.runtime.store;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The files' part of a checkpoint.
 *
 * @param generation the checkpoint that this snapshot was taken for
 * @param snapshotId the snapshot in the snapshotter
 * @param fileTable what the snapshot must hold, entry by entry
 * @param bases older tables of the session that the table builds upon, the newest first
 * @param entries number of entries of those tables together
 */
public record FileImage(long generation, String snapshotId, ObjectRef fileTable, List<ObjectRef> bases, long entries) {
    public FileImage {
        Objects.requireNonNull(snapshotId, "snapshotId");
        Objects.requireNonNull(fileTable, "fileTable");
        bases = List.copyOf(bases);
        if (entries < 0) {
            throw new IllegalArgumentException(entries + " entries cannot be");
        }
    }

    /** The table and those it builds upon, the newest first. */
    public List<ObjectRef> tables() {
        List<ObjectRef> tables = new ArrayList<>();
        tables.add(fileTable);
        tables.addAll(bases);
        return tables;
    }
}
