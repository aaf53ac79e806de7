/**
 * State machines as data: what is not in the table must not happen, and the table draws its own diagram.
 */
@NullMarked
package dev.crab.overlap.table;

import org.jspecify.annotations.NullMarked;
