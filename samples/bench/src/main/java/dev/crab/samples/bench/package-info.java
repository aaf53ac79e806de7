/**
 * Measurements behind the figures in the documentation.
 */
@NullMarked
package dev.crab.samples.bench;

import org.jspecify.annotations.NullMarked;
