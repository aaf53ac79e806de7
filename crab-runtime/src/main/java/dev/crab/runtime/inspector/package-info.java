/**
 * Kernel events to effects: what a turn did to its sandbox, judged so that doubt always means saving.
 */
@NullMarked
package dev.crab.runtime.inspector;

import org.jspecify.annotations.NullMarked;
