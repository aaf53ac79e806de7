/**
 * Best of N and a small tree search over a repair task with a scripted model, by branches and by running the prefix again.
 */
@NullMarked
package dev.crab.samples.search;

import org.jspecify.annotations.NullMarked;
