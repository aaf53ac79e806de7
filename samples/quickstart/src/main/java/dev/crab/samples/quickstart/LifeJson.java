package dev.crab.samples.quickstart;

import org.jspecify.annotations.Nullable;

/** A JVM of a run as the JSON report shows it. */
record LifeJson(
        String ending,
        @Nullable String killedAt,
        long recoveredTurn,
        int processesRestored,
        long restoreMillis,
        @Nullable String failure) {
    static LifeJson of(AgentRun.Life life) {
        return new LifeJson(
                life.ending().getClass().getSimpleName().toLowerCase(java.util.Locale.ROOT),
                life.ending() instanceof AgentProcess.Ending.Killed killed ? killed.point() : null,
                life.recoveredTurn(),
                life.processesRestored(),
                life.restoreMillis(),
                life.failure());
    }
}
