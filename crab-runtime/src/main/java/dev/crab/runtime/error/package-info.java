/**
 * What every layer throws when it must refuse: an exception with a stable code, a reason and a cure.
 */
@NullMarked
package dev.crab.runtime.error;

import org.jspecify.annotations.NullMarked;
