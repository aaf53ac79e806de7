package dev.crab.spring;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Hands the {@code crab.*} properties, {@link CrabOptionsCustomizer}s and turn listeners to Crab, and closes it with the context. */
@AutoConfiguration
public class CrabAutoConfiguration {
    @Bean
    static CrabConfigurer crabConfigurer(Environment environment) {
        return new CrabConfigurer(environment);
    }

    @Bean
    CrabHealth crabHealth(CrabConfigurer configurer) {
        return new CrabHealth(configurer.settings());
    }
}
