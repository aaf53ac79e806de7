/**
 * A coding agent that is killed in the middle of its work and goes on.
 */
@NullMarked
package dev.crab.samples.quickstart;

import org.jspecify.annotations.NullMarked;
