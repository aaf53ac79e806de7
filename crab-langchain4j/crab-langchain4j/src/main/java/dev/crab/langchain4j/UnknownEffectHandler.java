package dev.crab.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;

/** Decides about an external effect of which nobody knows whether it took place, for instance by asking a person. */
@FunctionalInterface
public interface UnknownEffectHandler {
    /**
     * Called on the thread that would run the tool; may take hours: after {@code crab.park-after} seconds the session is parked, which
     * frees its sandbox until the decision is there. {@link Crab#await} waits for an answer that comes from elsewhere.
     *
     * @param request the call in question
     * @param idempotencyKey the key that the call had, and has again if it runs
     * @return what to do; an exception stops the run as {@link Decision.Stop} does
     */
    Decision decide(ToolExecutionRequest request, String idempotencyKey);

    /** What to do. */
    sealed interface Decision {
        /** Run the tool again. */
        record Retry() implements Decision {}

        /** Do not run it; the model gets this text as its result. */
        record Answer(String text) implements Decision {}

        /**
         * Nobody knows yet: the run stops with {@code SESSION_PARKED}, its session parked, and the same call, made again, asks again.
         */
        record Later() implements Decision {}

        /** Stop the run. */
        record Stop() implements Decision {}
    }
}
