package dev.crab.runtime.engine;

import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.store.CheckpointImage;

/**
 * Takes checkpoints of sandboxes and brings sandboxes back from them. Thread-safe; calls for the same sandbox must not overlap, calls
 * for different ones may.
 *
 * <p>A checkpoint is made in two steps, so that the sandbox is held still as briefly as possible: {@link #capture} takes everything that
 * needs stillness, {@link #persist} makes it durable while the sandbox runs on. What {@code persist} returns goes into a manifest; this
 * class knows nothing of manifests or journals.
 */
public interface CheckpointEngine extends AutoCloseable {
    /**
     * Starts to keep a CRIU worker ready for a sandbox, so that its captures need not wait for one to start. Optional; idempotent. Ended
     * by {@link #detach}.
     */
    void attach(RunningSandbox sandbox);

    /** The sandbox is about to be closed: ends what {@link #attach} or a capture keeps for it. Idempotent. */
    void detach(String sandboxId);

    /**
     * Captures a sandbox; on return it runs again. Holds it meanwhile ({@link RunningSandbox#hold}).
     *
     * <p>What is taken: a snapshot always; a dump with it, of the same instant, if the plan or the hook asks for processes and others
     * than pid 1 exist, or if files alone were asked for but the plan has no earlier dump that the processes could come back from, or if
     * the plan demands one. Where only pid 1 runs and no dump is demanded, none is made: recovery starts pid 1 afresh.
     *
     * <p>Whatever fails, the sandbox is left running unless the exception says SANDBOX_LOST.
     *
     * @throws dev.crab.runtime.error.CrabException CAPTURE_FAILED, SANDBOX_LOST, NAME_TAKEN (a snapshot of the plan's id exists),
     *     DISK_FULL, EXEC_FAILED or whatever {@code hold} throws; what the hook throws comes out as it is
     */
    Captured capture(RunningSandbox sandbox, CheckpointPlan plan, FrozenHook hook);

    /**
     * Makes a capture durable: packs and stores the dump, describes the files, waits until the snapshot is on disk. The sandbox may run
     * and may even be gone. On return everything that the image names would survive a power cut, and temporary files are gone. After a
     * failure the capture is as before: call again, or {@link #discard} it.
     *
     * @param generation number of the manifest that will hold the image; at least 1
     * @throws dev.crab.runtime.error.CrabException COMMIT_FAILED, DISK_FULL, IO_FAILED
     */
    Persisted persist(Captured captured, long generation);

    /** Gives a capture up: deletes its snapshot and its temporary files. Idempotent; does nothing to one that was persisted. */
    void discard(Captured captured);

    /**
     * Brings a sandbox back: a new volume named {@code sandboxId} from the snapshot, its files checked against the file table, a place,
     * the processes (or a fresh pid 1 if the image has none), the process table checked. Only then does anything in it run.
     *
     * <p>The caller has removed what was left of a sandbox of that name before, its volume included. If anything fails, nothing of the
     * attempt is left: no volume, no mounts, no cgroups, no processes.
     *
     * @param hook called while everything is restored and checked and nothing has run yet (with a fresh pid 1: right after it serves)
     * @throws dev.crab.runtime.error.CrabException NAME_TAKEN, SNAPSHOT_MISSING, OBJECT_CORRUPT, FORMAT_UNKNOWN, RESTORE_FAILED with
     *     the lines around each error of CRIU's log, RESTORE_MISMATCH with the first differences
     */
    default RestoreResult restore(String sandboxId, SandboxSpec spec, CheckpointImage image, RestoreHook hook) {
        return park(sandboxId, spec, image, hook).resume();
    }

    /**
     * As {@link #restore}, but the sandbox is left held still, restored and checked, until it is let go. Its processes never notice. One
     * whose image has no processes has a fresh pid 1, which runs.
     */
    ParkedSandbox park(String sandboxId, SandboxSpec spec, CheckpointImage image, RestoreHook hook);

    /** Ends all workers. Captures that were not persisted are discarded. */
    @Override
    void close();
}
