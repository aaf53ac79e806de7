package dev.crab.runtime.engine;

import dev.crab.runtime.sandbox.SandboxProcesses;

/** The caller's part of a restore. An exception ends the restore, removes everything of it and comes out of it. */
@FunctionalInterface
public interface RestoreHook {
    /** The sandbox is restored, checked and held still. */
    void beforeResume(SandboxProcesses processes);
}
