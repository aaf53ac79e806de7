package dev.crab.overlap.schedule;

/** What moves a job from one {@link JobState} to another. */
enum JobEvent {
    /** Its turn has come, or it has waited for as long as it may. */
    GRANTED,
    /** Somebody waits for it: the response has arrived. */
    PROMOTED,
    /** The capture is over and the sandbox runs again. */
    CAPTURE_ENDED,
    /** The commit succeeded or failed, or whoever asked is gone. */
    ENDED
}
