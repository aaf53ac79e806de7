/** Crab's goals for Maven; thin, over the command line's classes. */
@NullMarked
package dev.crab.maven;

import org.jspecify.annotations.NullMarked;
