package dev.crab.runtime.criu;

import java.util.Arrays;
import java.util.Optional;

/** Moments of a dump or restore at which CRIU stops and asks whether to go on. */
public enum CriuPhase {
    /** Before a dump touches anything. */
    PRE_DUMP("pre-dump"),
    /** All images are written and the processes are still held still; what CRIU linked into the file system for the dump is there. */
    POST_DUMP("post-dump"),
    /** Before a restore begins. */
    PRE_RESTORE("pre-restore"),
    /** Pid 1 exists in its namespaces, with nothing else of it restored yet. */
    SETUP_NAMESPACES("setup-namespaces"),
    /** All namespaces are set up. */
    POST_SETUP_NAMESPACES("post-setup-namespaces"),
    /** All processes are restored as far as they can be without running. */
    POST_RESTORE("post-restore"),
    /** Everything is restored; the next step lets the processes go. */
    PRE_RESUME("pre-resume"),
    /** The processes have been let go. */
    POST_RESUME("post-resume");

    private final String script;

    CriuPhase(String script) {
        this.script = script;
    }

    static Optional<CriuPhase> of(String script) {
        return Arrays.stream(values())
                .filter(phase -> phase.script.equals(script))
                .findAny();
    }
}
