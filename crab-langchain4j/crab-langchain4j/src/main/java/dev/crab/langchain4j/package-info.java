/**
 * The interceptor for LangChain4j's AI services: turn boundaries, journal replay and sandbox tools.
 */
@NullMarked
package dev.crab.langchain4j;

import org.jspecify.annotations.NullMarked;
