package dev.crab.runtime.snapshot;

import java.nio.file.Path;

/**
 * A read-only state of a volume.
 *
 * @param id unique within the data directory; {@code [a-z0-9][a-z0-9._-]{0,120}}
 * @param directory where it can be read: holds {@code upper/} as the volume did
 */
public record Snapshot(String id, Path directory) {
    public Path upper() {
        return directory.resolve("upper");
    }
}
