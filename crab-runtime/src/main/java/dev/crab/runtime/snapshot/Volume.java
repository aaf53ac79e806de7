package dev.crab.runtime.snapshot;

import java.nio.file.Path;

/**
 * A sandbox's writable storage: an overlay's upper and work directories side by side, so that one snapshot holds both.
 *
 * @param id unique within the data directory; same alphabet as {@link Snapshot#id}
 * @param directory holds {@code upper/} and {@code work/}
 */
public record Volume(String id, Path directory) {
    public Path upper() {
        return directory.resolve("upper");
    }

    public Path work() {
        return directory.resolve("work");
    }

    /** Where whoever examines the volume may keep a short-lived snapshot of it: beside it, and deleted with it. */
    public Path scratch() {
        return directory.resolveSibling(id + ".scratch");
    }
}
