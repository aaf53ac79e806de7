/**
 * Named points at which a test may stop the process, so that every step of a commit can be crashed.
 */
@NullMarked
package dev.crab.runtime.fault;

import org.jspecify.annotations.NullMarked;
