/**
 * {@code ./crab prove programs}: real programs that are checkpointed, crashed and restored time and again, and asked each time for what was
 * only in their memory.
 */
@NullMarked
package dev.crab.samples.programs;

import org.jspecify.annotations.NullMarked;
