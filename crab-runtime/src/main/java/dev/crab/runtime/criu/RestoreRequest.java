package dev.crab.runtime.criu;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A tree to restore.
 *
 * @param images directory that holds the images; the log is written there too
 * @param root mount that becomes the tree's root; null for the host's own
 */
public record RestoreRequest(Path images, @Nullable Path root) {}
