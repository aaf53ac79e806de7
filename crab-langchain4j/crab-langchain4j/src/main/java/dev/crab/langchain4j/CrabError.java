package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;
import org.jspecify.annotations.Nullable;

/**
 * A {@link CrabException} on its way through an agent framework. It is an {@link Error} because LangChain4j turns any exception that
 * leaves a tool into text for the model, and the run would go on unprotected.
 */
public final class CrabError extends Error {
    private static final long serialVersionUID = 1L;

    private final CrabException refusal;

    CrabError(CrabException refusal) {
        super(refusal.getMessage(), refusal);
        this.refusal = refusal;
    }

    /** The one among a throwable and its causes: executors and frameworks wrap what they pass on. Null if there is none. */
    static @Nullable CrabError within(Throwable thrown) {
        Throwable one = thrown;
        for (int depth = 0; one != null && depth < 50; depth++) {
            if (one instanceof CrabError error) {
                return error;
            }
            one = one.getCause();
        }
        return null;
    }

    /** What was refused, and why. */
    public CrabException refusal() {
        return refusal;
    }
}
