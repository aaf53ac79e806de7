package dev.crab.runtime.store;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What brings a sandbox back: its processes and its files. Part of a manifest.
 *
 * @param processes the dump; null if only pid 1 ran, which is started afresh
 * @param files the snapshot that belongs to it
 */
public record CheckpointImage(@Nullable ProcessImage processes, FileImage files) {
    public CheckpointImage {
        Objects.requireNonNull(files, "files");
    }
}
