package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.langchain4j.service.AiServiceContext;
import dev.langchain4j.spi.ServiceHelper;
import dev.langchain4j.spi.services.AiServiceContextFactory;
import java.util.List;

/**
 * Whether LangChain4j calls Crab. It takes the first {@link AiServiceContextFactory} that the class path gives when the first AI service
 * is built, and never looks again; so the answer is asked of LangChain4j itself.
 */
final class Interceptor {
    private Interceptor() {}

    /** An AI service that is never built. */
    private interface Probe {}

    /**
     * Refuses to go on if LangChain4j does not call {@link CrabContextFactory}.
     *
     * @throws CrabException INTERCEPTOR_INACTIVE; FRAMEWORK_UNSUPPORTED if this LangChain4j is too old
     */
    static void ensureActive() {
        Framework.ensureSupported();
        check(
                AiServiceContext.create(Probe.class),
                ServiceHelper.loadFactories(AiServiceContextFactory.class).stream()
                        .map(factory -> factory.getClass().getName())
                        .toList());
    }

    static void check(AiServiceContext made, List<String> providers) {
        if (made instanceof ProtectedContext) {
            return;
        }
        String what = "AI services would not be protected";
        if (providers.contains(CrabContextFactory.class.getName())) {
            throw CrabException.of(
                    ErrorCode.INTERCEPTOR_INACTIVE,
                    what,
                    "LangChain4j makes their context by another library ("
                            + made.getClass().getName() + "); the class path holds " + String.join(", ", providers),
                    "take that library off the class path or put crab-langchain4j before it; or set crab.enabled=false");
        }
        throw CrabException.of(
                ErrorCode.INTERCEPTOR_INACTIVE,
                what,
                "LangChain4j found " + (providers.isEmpty() ? "no" : "only " + String.join(", ", providers) + " as")
                        + " " + AiServiceContextFactory.class.getName(),
                "make META-INF/services of crab-langchain4j visible to the thread's context class loader before the first AI service"
                        + " is built");
    }
}
