package dev.crab.langchain4j;

import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;

/** Opens sessions: the runtime, or what a test puts in its place. */
@FunctionalInterface
interface SessionOpener {
    SandboxSession open(String sessionId, SandboxSpec spec);
}
