/**
 * CRIU over its RPC protocol; the generated protobuf types never leave this package.
 */
@NullMarked
package dev.crab.runtime.criu;

import org.jspecify.annotations.NullMarked;
