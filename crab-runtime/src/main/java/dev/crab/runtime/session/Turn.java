package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** A turn that is under way. Ends by exactly one of {@link #commit} and {@link #abandon}. */
public interface Turn {
    /** Position in the session's timeline, from 1. */
    long number();

    /**
     * The boundary. Judges what the turn did, captures what recovery needs, makes it durable and commits: on return a crash at any later
     * instant comes back to here. Blocks for all of that; the sandbox is held still only for the capture inside.
     *
     * <p>If the capture or the commit fails the turn stays open: the sandbox runs on, the last commit stays the recovery point, and
     * either method may be called again.
     *
     * @param position where the layer above stands (its chat), stored in the same record; at most 64 KiB of JSON
     * @throws dev.crab.runtime.error.CrabException CAPTURE_FAILED, COMMIT_FAILED, DISK_FULL, SANDBOX_LOST
     */
    default TurnOutcome commit(ObjectNode position) {
        return commit(position, Admission.FREE);
    }

    /**
     * As {@link #commit(ObjectNode)}, among others on the host.
     *
     * @param admission asked before the capture and before what was captured is made durable, and told when this attempt is over
     */
    TurnOutcome commit(ObjectNode position, Admission admission);

    /** Gives the turn up: its effects stay in the running sandbox and become part of the next turn. Idempotent. */
    void abandon();
}
