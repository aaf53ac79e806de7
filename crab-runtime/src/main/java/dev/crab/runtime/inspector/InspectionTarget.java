package dev.crab.runtime.inspector;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What the inspector has to know of a sandbox.
 *
 * @param sandboxId the sandbox's name, for messages
 * @param cgroup directory of the sandbox's own cgroup in the v2 hierarchy; every process of the sandbox is in it
 * @param initPid host pid of the sandbox's pid 1, which serves the exec requests and is never itself evidence of an effect
 * @param upper the overlay's writable layer on the host
 * @param lower the overlay's read-only image on the host
 * @param scratch where a snapshot of the volume that holds {@code upper} may be made while the sandbox is judged, on the same btrfs. Its
 *     owner removes what a crash leaves there. Null, or no btrfs: files are always compared by walking the whole layer
 */
public record InspectionTarget(
        String sandboxId,
        Path cgroup,
        int initPid,
        Path upper,
        Path lower,
        @Nullable Path scratch) {}
