/**
 * Which capture and which write to the store comes next, over all sandboxes of the host; knows nothing of turns and sessions.
 */
@NullMarked
package dev.crab.overlap.schedule;

import org.jspecify.annotations.NullMarked;
