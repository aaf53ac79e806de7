package dev.crab.runtime.engine;

import dev.crab.runtime.sandbox.SandboxProcesses;
import java.nio.file.Path;

/** The caller's part of a restore. An exception ends the restore, removes everything of it and comes out of it. */
@FunctionalInterface
public interface RestoreHook {
    /** The sandbox's cgroup is there, with nothing in it yet: what takes long can be begun. May come and nothing more. */
    default void placed(Path cgroup) {}

    /** The sandbox is restored, checked and held still. */
    void beforeResume(SandboxProcesses processes);
}
