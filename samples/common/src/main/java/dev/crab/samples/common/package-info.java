/** What several samples share: recorded sessions of agents, JVMs that are started to be killed, and rules of chats. */
@NullMarked
package dev.crab.samples.common;

import org.jspecify.annotations.NullMarked;
