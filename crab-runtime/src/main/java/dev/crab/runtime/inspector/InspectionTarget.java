package dev.crab.runtime.inspector;

import java.nio.file.Path;

/**
 * What the inspector has to know of a sandbox.
 *
 * @param sandboxId the sandbox's name, for messages
 * @param cgroup directory of the sandbox's own cgroup in the v2 hierarchy; every process of the sandbox is in it
 * @param initPid host pid of the sandbox's pid 1, which serves the exec requests and is never itself evidence of an effect
 * @param upper the overlay's writable layer on the host
 * @param lower the overlay's read-only image on the host
 */
public record InspectionTarget(String sandboxId, Path cgroup, int initPid, Path upper, Path lower) {}
