package dev.crab.langchain4j;

import dev.crab.overlap.TurnCoordinator;
import dev.crab.runtime.session.SandboxSession;

/** A session that this process has opened, with what leads it. */
record OpenSession(SandboxSession session, TurnCoordinator turns) implements AutoCloseable {
    @Override
    public void close() {
        try {
            turns.close();
        } finally {
            session.close();
        }
    }
}
