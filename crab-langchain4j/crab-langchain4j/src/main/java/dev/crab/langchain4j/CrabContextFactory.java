package dev.crab.langchain4j;

import dev.langchain4j.service.AiServiceContext;
import dev.langchain4j.spi.services.AiServiceContextFactory;

/** Where LangChain4j meets Crab: found by {@link java.util.ServiceLoader}, called for every AI service that is built. */
public final class CrabContextFactory implements AiServiceContextFactory {
    @Override
    public AiServiceContext create(Class<?> aiServiceClass) {
        if (!Crab.hub().config().enabled()) {
            return new PlainContext(aiServiceClass);
        }
        Framework.ensureSupported();
        ProtectedContext context = new ProtectedContext(aiServiceClass);
        context.refuseWhatIsKnownToFail(false);
        return context;
    }

    /** Exactly LangChain4j's own; a class only because the constructor is protected. */
    private static final class PlainContext extends AiServiceContext {
        PlainContext(Class<?> aiServiceClass) {
            super(aiServiceClass);
        }
    }
}
