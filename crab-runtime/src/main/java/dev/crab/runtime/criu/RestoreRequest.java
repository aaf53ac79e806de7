package dev.crab.runtime.criu;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A tree to restore.
 *
 * @param images directory that holds the images; the log is written there too
 * @param root mount that becomes the tree's root; null for the host's own
 * @param cgroups directories whose {@code cgroup.procs} CRIU's process is written into first, so that the tree is born there
 */
public record RestoreRequest(Path images, @Nullable Path root, List<Path> cgroups) {
    public RestoreRequest {
        cgroups = List.copyOf(cgroups);
    }
}
