package dev.crab.samples.replay;

import java.util.Locale;

/** Where an agent's JVM is killed. */
enum CrashKind {
    /** Between two turns, once what the policy saves of the one is durable, while the model is being asked for the next. */
    BOUNDARY,
    /** While the tools of a turn run. */
    TOOL,
    /** While the policy saves a turn, right after it. */
    CAPTURE;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
