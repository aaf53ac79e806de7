package dev.crab.runtime.session;

/** What to do where a turn's processes cannot be captured. Files are saved under either policy. */
public enum UncapturedPolicy {
    /** The commit fails with CAPTURE_FAILED; the turn stays open and the last commit stays the recovery point. */
    FAIL,
    /**
     * The files are committed without the processes. What was given up is in the manifest, in the commit record and in the log, and is
     * told on recovery.
     */
    CONTINUE_UNPROTECTED
}
