package dev.crab.runtime.store;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/** A session's append-only record of what happened. Thread-safe; records are totally ordered. */
public interface Journal {
    /** All records that were durable when the journal was opened, oldest first. */
    List<JournalRecord> recovered();

    /**
     * Appends a record and returns once it would survive a power cut. Callers side by side share one flush.
     *
     * @throws dev.crab.runtime.error.CrabException DISK_FULL or IO_FAILED; then the record is not in the journal, and what was there
     *     before still is
     */
    JournalRecord append(String kind, ObjectNode body);

    /**
     * Appends a record without waiting for the disk: on return it survives the death of this process, and a power cut only once a later
     * {@link #append} has returned or the journal was closed.
     *
     * @throws dev.crab.runtime.error.CrabException as {@link #append}
     */
    JournalRecord write(String kind, ObjectNode body);
}
