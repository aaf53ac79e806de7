package dev.crab.spring;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** The health indicator {@code crab}, as Boot 4 wants it. */
@AutoConfiguration(after = CrabAutoConfiguration.class)
@ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
@ConditionalOnProperty(name = "management.health.crab.enabled", havingValue = "true", matchIfMissing = true)
public class CrabBoot4HealthAutoConfiguration {
    @Bean
    HealthIndicator crabHealthIndicator(CrabHealth crab) {
        return () -> (crab.isUp() ? Health.up() : Health.down())
                .withDetails(crab.details())
                .build();
    }
}
