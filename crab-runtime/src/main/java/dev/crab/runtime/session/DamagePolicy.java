package dev.crab.runtime.session;

/** What to do where the newest checkpoint of a session is damaged or does not come back as it was saved. */
public enum DamagePolicy {
    /**
     * Go back to the newest generation that verifies, chat, files and processes alike. The turns after it are void: the journal says so,
     * a warning is logged, and {@link SandboxSession.Recovery.Restored#skipped} tells why. If there is no such generation, or it is the
     * image as it came, the session is refused.
     */
    FALL_BACK,
    /** Refuse to open the session. Nothing of it is changed. */
    REFUSE
}
