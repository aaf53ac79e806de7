/**
 * The command line behind the launcher.
 */
@NullMarked
package dev.crab.cli;

import org.jspecify.annotations.NullMarked;
