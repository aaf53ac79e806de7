/**
 * Turns, windows and gates over a sandbox session; any agent framework can sit on it.
 */
@NullMarked
package dev.crab.overlap;

import org.jspecify.annotations.NullMarked;
