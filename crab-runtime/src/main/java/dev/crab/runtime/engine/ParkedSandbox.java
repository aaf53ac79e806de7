package dev.crab.runtime.engine;

import dev.crab.runtime.sandbox.SandboxProcesses;

/**
 * A sandbox that was brought back and is held still: everything of it is restored and checked, and nothing has run. Thread-safe.
 */
public interface ParkedSandbox extends AutoCloseable {
    /** Where it is; its pid 1 is a child of this process. */
    SandboxProcesses processes();

    /** Bytes of memory that its processes have for themselves or share among them. */
    long memory();

    /**
     * Lets it go, once; what was begun for it ({@link CheckpointEngine#detach}) stays with the running sandbox. If it fails, nothing of the
     * sandbox is left.
     *
     * @throws dev.crab.runtime.error.CrabException RESTORE_FAILED, SANDBOX_START_FAILED
     * @throws IllegalStateException if it was let go or given up before
     */
    RestoreResult resume();

    /** Gives it up: its processes, its place and its volume go. Does nothing once it was let go. Idempotent. */
    @Override
    void close();
}
