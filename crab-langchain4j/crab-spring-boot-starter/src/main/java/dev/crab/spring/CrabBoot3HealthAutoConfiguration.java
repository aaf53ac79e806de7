package dev.crab.spring;

import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;

/** The health indicator {@code crab}, as Boot 3 wants it. */
@AutoConfiguration(after = CrabAutoConfiguration.class)
@ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
@ConditionalOnProperty(name = "management.health.crab.enabled", havingValue = "true", matchIfMissing = true)
public class CrabBoot3HealthAutoConfiguration {
    @Bean
    HealthIndicator crabHealthIndicator(CrabHealth crab) {
        return () -> (crab.isUp() ? Health.up() : Health.down())
                .withDetails(crab.details())
                .build();
    }
}
