/**
 * The truth harness: turns in real sandboxes, judged by the inspector and, independently of it, by an oracle that reads the whole state
 * before and after.
 */
@NullMarked
package dev.crab.samples.truth;

import org.jspecify.annotations.NullMarked;
