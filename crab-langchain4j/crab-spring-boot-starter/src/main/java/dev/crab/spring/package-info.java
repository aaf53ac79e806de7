/** Crab in a Spring Boot application: settings, health, metrics. One artifact for Boot 3 and 4. */
@NullMarked
package dev.crab.spring;

import org.jspecify.annotations.NullMarked;
