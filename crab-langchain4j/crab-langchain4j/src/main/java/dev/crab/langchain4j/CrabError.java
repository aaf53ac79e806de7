package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;

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

    /** What was refused, and why. */
    public CrabException refusal() {
        return refusal;
    }
}
