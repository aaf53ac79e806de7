package dev.crab.runtime.engine;

import dev.crab.runtime.store.CheckpointImage;

/**
 * A capture that is durable.
 *
 * @param image what the manifest has to hold
 * @param bytesWritten bytes of the objects that were written for it; what the snapshot shares or copies on write is not counted
 * @param nanos how long it took
 */
public record Persisted(CheckpointImage image, long bytesWritten, long nanos) {}
