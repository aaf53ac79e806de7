/**
 * Checkpoints: capture, persist and commit; restore and verify.
 */
@NullMarked
package dev.crab.runtime.engine;

import org.jspecify.annotations.NullMarked;
