package dev.crab.runtime.engine;

import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.ObjectStore;

/** Compares a snapshot with the file table that was written for it, without restoring anything. */
public final class SnapshotVerifier {
    private SnapshotVerifier() {}

    /**
     * Reads every file of the snapshot.
     *
     * @return number of entries
     * @throws dev.crab.runtime.error.CrabException RESTORE_MISMATCH with the first differences; OBJECT_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    public static long verify(ObjectStore objects, FileImage image, Snapshot snapshot) {
        return FileTable.verify(objects, image, snapshot.upper());
    }
}
