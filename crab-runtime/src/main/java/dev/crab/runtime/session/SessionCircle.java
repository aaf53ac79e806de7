package dev.crab.runtime.session;

import java.util.concurrent.ExecutorService;

/** What an open session knows of those beside it in this process. */
interface SessionCircle {
    /** One thread for what may wait: ending sandboxes that nobody uses any more, deleting what is not needed. */
    ExecutorService housekeeping();

    /** Sandboxes that are restored ahead. */
    StandbyPool standbys();

    /** Opens a session that was just made: of which nobody can have left anything. */
    SandboxSession openFresh(String id);

    /** The session was closed. */
    void closed(DurableSession session);
}
