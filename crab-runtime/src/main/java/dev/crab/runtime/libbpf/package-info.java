/**
 * libbpf by JNA: loading the inspector's object from the class path and reading its maps.
 */
@NullMarked
package dev.crab.runtime.libbpf;

import org.jspecify.annotations.NullMarked;
