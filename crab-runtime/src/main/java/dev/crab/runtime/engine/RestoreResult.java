package dev.crab.runtime.engine;

import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;

/**
 * A sandbox that was brought back.
 *
 * @param sandbox the running sandbox; its caller closes it
 * @param processesRestored processes that came back from a dump, pid 1 included; 0 if pid 1 was started afresh
 * @param filesVerified entries of the file table that were found as recorded
 * @param prepareNanos making the volume and the place, checking the files, unpacking the dump
 * @param processNanos restoring and checking the processes, or starting pid 1
 * @param verifyNanos the part of both that went into comparing files, processes and memory with what was saved; what is done at the
 *     same time by other threads is not taken off
 */
public record RestoreResult(
        RunningSandbox sandbox,
        int processesRestored,
        long filesVerified,
        long prepareNanos,
        long processNanos,
        long verifyNanos) {}
