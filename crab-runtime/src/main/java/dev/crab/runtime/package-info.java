/**
 * The public face of the runtime: how it is built, whether it can run here, and what its defaults are.
 */
@NullMarked
package dev.crab.runtime;

import org.jspecify.annotations.NullMarked;
