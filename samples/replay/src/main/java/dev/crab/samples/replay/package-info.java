/**
 * Recorded agents, replayed through LangChain4j under several policies of recovery beside each other, killed, and compared with what they
 * were before.
 */
@NullMarked
package dev.crab.samples.replay;

import org.jspecify.annotations.NullMarked;
