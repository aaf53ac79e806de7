/**
 * Counts what sandboxes leave on the host: many turns of all kinds, restores and killed JVMs, and after them a census of everything that
 * the kernel and the disk keep, read past Crab from what the kernel itself tells. {@code ./crab prove leaks}.
 */
@NullMarked
package dev.crab.samples.leaks;

import org.jspecify.annotations.NullMarked;
