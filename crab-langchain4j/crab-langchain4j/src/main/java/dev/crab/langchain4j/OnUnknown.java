package dev.crab.langchain4j;

/** What to do about a tool that was started before a crash and of which it is unknown whether its effect took place. */
public enum OnUnknown {
    /** Run it again. For effects that are idempotent, or become so by {@link Crab#idempotencyKey()}. */
    RETRY,
    /** Do not run it: the model gets what the journal knows, namely that the call was started and its outcome is not known. */
    RECORDED,
    /** Ask the {@link UnknownEffectHandler} of {@link CrabOptions}; stop if there is none. */
    ASK,
    /** Stop with {@link dev.crab.runtime.error.ErrorCode#EFFECT_UNKNOWN}. */
    FAIL
}
