/** Every path through LangChain4j's loop, killed at every turn boundary and inside every tool call, and compared with the uncrashed run. */
@NullMarked
package dev.crab.samples.langchain4j;

import org.jspecify.annotations.NullMarked;
