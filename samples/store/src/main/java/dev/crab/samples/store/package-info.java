/**
 * The crash matrix of the checkpoint store and of the restore: a session is killed, cut off from power, refused its disk, damaged and
 * raced at every point, and what comes back is compared with what was committed.
 */
@NullMarked
package dev.crab.samples.store;

import org.jspecify.annotations.NullMarked;
