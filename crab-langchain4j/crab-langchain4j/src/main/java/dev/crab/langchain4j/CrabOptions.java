package dev.crab.langchain4j;

import dev.crab.overlap.ToolEffect;
import dev.crab.overlap.TurnListener;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.sandbox.SandboxSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a program may tell {@link Crab} in code. Immutable; made by {@link #builder()}. */
public final class CrabOptions {
    /** How a tool is declared that carries no annotation. */
    record ToolDeclaration(ToolEffect effect, OnUnknown onUnknown) {
        static final ToolDeclaration DEFAULT = new ToolDeclaration(ToolEffect.SANDBOX, OnUnknown.FAIL);
    }

    final Map<String, String> settings;
    final SandboxSpec spec;
    final List<TurnListener> listeners;
    final Map<String, ToolDeclaration> tools;
    final @Nullable UnknownEffectHandler unknownEffectHandler;
    final Map<String, String> services;
    final OnDivergence onDivergence;
    final @Nullable SessionOpener opener;

    private CrabOptions(Builder builder) {
        settings = Map.copyOf(builder.settings);
        spec = builder.spec;
        listeners = List.copyOf(builder.listeners);
        tools = Map.copyOf(builder.tools);
        unknownEffectHandler = builder.unknownEffectHandler;
        services = Map.copyOf(builder.services);
        onDivergence = builder.onDivergence;
        opener = builder.opener;
    }

    /**
     * A builder. What is not set has the default:
     *
     * <ul>
     *   <li>{@link Builder#set}: every setting from its system property, else its environment variable, else as {@link CrabConfig} lists
     *   <li>{@link Builder#sandbox}: {@link SandboxSpec#defaults()}
     *   <li>{@link Builder#listener}: none
     *   <li>{@link Builder#sandboxTool}, {@link Builder#readOnlyTool}, {@link Builder#externalTool}: tools without an annotation are taken
     *       as having their effect in the sandbox
     *   <li>{@link Builder#serviceSession}: the session comes from scope, memory id or setting, as {@link Crab} says
     *   <li>{@link Builder#onDivergence}: {@link OnDivergence#PIN}
     *   <li>{@link Builder#onAsk}: nobody, so that {@link OnUnknown#ASK} stops
     * </ul>
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Collects options. Not thread-safe. */
    public static final class Builder {
        private final Map<String, String> settings = new LinkedHashMap<>();
        private SandboxSpec spec = SandboxSpec.defaults();
        private final List<TurnListener> listeners = new ArrayList<>();
        private final Map<String, ToolDeclaration> tools = new LinkedHashMap<>();
        private @Nullable UnknownEffectHandler unknownEffectHandler;
        private final Map<String, String> services = new LinkedHashMap<>();
        private OnDivergence onDivergence = OnDivergence.PIN;
        private @Nullable SessionOpener opener;

        private Builder() {}

        /** A setting by its property name, as {@link CrabConfig} lists them; goes before system property and environment. */
        public Builder set(String property, String value) {
            settings.put(property, value);
            return this;
        }

        /** What new sandboxes are like unless they are asked for otherwise. */
        public Builder sandbox(SandboxSpec value) {
            spec = value;
            return this;
        }

        /** Adds a listener to all sessions. */
        public Builder listener(TurnListener listener) {
            listeners.add(listener);
            return this;
        }

        /** Declares a tool that cannot be annotated (MCP, custom executors) as {@link SandboxEffect}. */
        public Builder sandboxTool(String name) {
            return declare(name, ToolEffect.SANDBOX, OnUnknown.FAIL);
        }

        /** Declares a tool that cannot be annotated as {@link ReadOnlyEffect}. */
        public Builder readOnlyTool(String name) {
            return declare(name, ToolEffect.READ_ONLY, OnUnknown.FAIL);
        }

        /** Declares a tool that cannot be annotated as {@link ExternalEffect}. */
        public Builder externalTool(String name, OnUnknown onUnknown) {
            return declare(name, ToolEffect.EXTERNAL, onUnknown);
        }

        private Builder declare(String name, ToolEffect effect, OnUnknown onUnknown) {
            tools.put(name, new ToolDeclaration(effect, onUnknown));
            return this;
        }

        /**
         * All calls of the AI services (or agents) with that interface belong to that session, unless a tool makes them; in its durable
         * run, if one is open. For agents that work together with a sandbox each.
         */
        public Builder serviceSession(Class<?> service, String sessionId) {
            services.put(service.getName(), sessionId);
            return this;
        }

        /** Who decides where {@link OnUnknown#ASK} is declared. */
        public Builder onAsk(UnknownEffectHandler handler) {
            unknownEffectHandler = handler;
            return this;
        }

        /** What to do when a call that is taken up comes to other first messages than before. */
        public Builder onDivergence(OnDivergence value) {
            onDivergence = value;
            return this;
        }

        /** Where sessions come from instead of the runtime. */
        Builder opener(SessionOpener value) {
            opener = value;
            return this;
        }

        public CrabOptions build() {
            return new CrabOptions(this);
        }
    }
}
