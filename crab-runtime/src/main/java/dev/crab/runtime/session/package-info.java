/**
 * One sandbox's timeline: turns begin, end, commit, and come back after a crash.
 */
@NullMarked
package dev.crab.runtime.session;

import org.jspecify.annotations.NullMarked;
