/**
 * Sandboxes: created by an OCI runtime, driven through pid 1, isolated from the host and from each other.
 */
@NullMarked
package dev.crab.runtime.sandbox;

import org.jspecify.annotations.NullMarked;
