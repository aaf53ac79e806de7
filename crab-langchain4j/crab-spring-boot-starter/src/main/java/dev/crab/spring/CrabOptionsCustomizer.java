package dev.crab.spring;

import dev.crab.langchain4j.CrabOptions;

/**
 * A bean that sets what properties cannot: the sandbox's image, tools declared by name, who is asked about unknown effects. Made before all
 * ordinary beans, so it should need none of them.
 */
@FunctionalInterface
public interface CrabOptionsCustomizer {
    /** Called once per application context, after the {@code crab.*} properties were set. */
    void customize(CrabOptions.Builder options);
}
