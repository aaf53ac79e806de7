/**
 * File-system snapshots of a sandbox's writable layer behind one interface.
 */
@NullMarked
package dev.crab.runtime.snapshot;

import org.jspecify.annotations.NullMarked;
