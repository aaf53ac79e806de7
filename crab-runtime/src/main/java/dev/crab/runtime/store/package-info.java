/**
 * Durable state on disk: objects, manifests, the journal, and the lock that gives a session one owner.
 */
@NullMarked
package dev.crab.runtime.store;

import org.jspecify.annotations.NullMarked;
