package dev.crab.overlap.schedule;

import dev.crab.runtime.inspector.Effect;

/** What a job captures; the cheaper kind comes first. */
enum JobKind {
    /** A snapshot. */
    FILES,
    /** A dump, and a snapshot beside it. */
    PROCESSES;

    static JobKind of(Effect effect) {
        return effect.processes() ? PROCESSES : FILES;
    }
}
