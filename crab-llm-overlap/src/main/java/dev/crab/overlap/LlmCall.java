package dev.crab.overlap;

/**
 * What is known of an LLM call before it is answered, for the prediction of how long it will be in flight.
 *
 * @param model the model's name; empty if it is not known
 * @param mostTokens how long the output may be at most, in tokens; 0 for no bound
 */
public record LlmCall(String model, int mostTokens) {
    /** A call of which nothing is known. */
    public static final LlmCall UNKNOWN = new LlmCall("", 0);
}
