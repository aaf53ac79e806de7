package dev.crab.runtime.engine;

import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.store.ProcessEntry;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A captured state that is not durable yet. Hand it to {@link CheckpointEngine#persist} or {@link CheckpointEngine#discard}. Thread-safe. */
public final class Captured {
    /** Where a capture stands. */
    enum State {
        OPEN,
        PERSISTED,
        DISCARDED
    }

    /**
     * A dump as CRIU left it.
     *
     * @param images directory that holds CRIU's image files
     * @param processes the process table of the instant of the dump
     */
    record Dump(Path images, List<ProcessEntry> processes) {}

    private final CheckpointPlan plan;
    private final Snapshot snapshot;
    private final @Nullable Dump dump;
    private final boolean survivors;
    private final Instant takenAt;
    private final long captureNanos;
    private final long freezeNanos;
    final AtomicReference<State> state = new AtomicReference<>(State.OPEN);

    Captured(
            CheckpointPlan plan,
            Snapshot snapshot,
            @Nullable Dump dump,
            boolean survivors,
            Instant takenAt,
            long captureNanos,
            long freezeNanos) {
        this.plan = plan;
        this.snapshot = snapshot;
        this.dump = dump;
        this.survivors = survivors;
        this.takenAt = takenAt;
        this.captureNanos = captureNanos;
        this.freezeNanos = freezeNanos;
    }

    /** Whether processes were dumped; if not, a snapshot alone was taken. */
    public boolean hasDump() {
        return dump != null;
    }

    /** Nanoseconds from the call of capture until the sandbox ran freely again. */
    public long captureNanos() {
        return captureNanos;
    }

    /** The part of it, in nanoseconds, in which the sandbox was held still; 0 where only pid 1 ran. */
    public long freezeNanos() {
        return freezeNanos;
    }

    /**
     * Bytes that CRIU wrote for it, before anything was compressed or left out; 0 without a dump.
     *
     * @throws IOException if it was persisted or discarded meanwhile
     */
    public long imageBytes() throws IOException {
        if (dump == null) {
            return 0;
        }
        long bytes = 0;
        try (DirectoryStream<Path> images = Files.newDirectoryStream(dump.images(), "*.img")) {
            for (Path image : images) {
                bytes += Files.size(image);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return bytes;
    }

    /** As {@link #imageBytes}, for whoever only wants to know how much waits: 0 where that cannot be told. */
    public long unwrittenBytes() {
        try {
            return imageBytes();
        } catch (IOException e) {
            return 0;
        }
    }

    CheckpointPlan plan() {
        return plan;
    }

    Snapshot snapshot() {
        return snapshot;
    }

    @Nullable
    Dump dump() {
        return dump;
    }

    /** Whether processes other than pid 1 existed, so that the checkpoint needs a dump, this one or an earlier one. */
    boolean survivors() {
        return survivors;
    }

    Instant takenAt() {
        return takenAt;
    }
}
