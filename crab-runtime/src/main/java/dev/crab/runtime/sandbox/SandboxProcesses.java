package dev.crab.runtime.sandbox;

import dev.crab.runtime.snapshot.Volume;
import java.nio.file.Path;

/**
 * The host's view of a running sandbox: what the engine and the inspector work on.
 *
 * @param initPid host pid of the sandbox's pid 1
 * @param cgroup its directory in the cgroup v2 hierarchy
 * @param networkNamespace file that names its network namespace
 * @param root host path where its overlay is mounted
 * @param lower the image below it
 * @param volume the writable storage above it
 */
public record SandboxProcesses(int initPid, Path cgroup, Path networkNamespace, Path root, Path lower, Volume volume) {}
