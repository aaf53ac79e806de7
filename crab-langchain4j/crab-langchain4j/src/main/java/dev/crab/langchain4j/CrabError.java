package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A {@link CrabException} on its way through an agent framework. It is an {@link Error} because LangChain4j turns any exception that
 * leaves a tool into text for the model, and the run would go on unprotected.
 */
public final class CrabError extends Error {
    private static final long serialVersionUID = 1L;

    private static final int DEPTH = 50;

    private final CrabException refusal;

    CrabError(CrabException refusal) {
        super(refusal.getMessage(), refusal);
        this.refusal = refusal;
    }

    /** The one among a throwable and its causes: executors and frameworks wrap what they pass on. Null if there is none. */
    static @Nullable CrabError within(Throwable thrown) {
        return (CrabError)
                causes(thrown).filter(CrabError.class::isInstance).findFirst().orElse(null);
    }

    /** A throwable and its causes, the outermost first; of those that go in a circle, the first {@value #DEPTH}. */
    static Stream<Throwable> causes(Throwable thrown) {
        return Stream.iterate(thrown, Objects::nonNull, Throwable::getCause).limit(DEPTH);
    }

    /** What was refused, and why. */
    public CrabException refusal() {
        return refusal;
    }
}
