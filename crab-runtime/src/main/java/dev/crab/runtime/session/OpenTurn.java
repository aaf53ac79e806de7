package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** A turn of a {@link DurableSession}, which knows whether it is still under way. */
final class OpenTurn implements Turn {
    private final DurableSession session;
    private final long number;

    OpenTurn(DurableSession session, long number) {
        this.session = session;
        this.number = number;
    }

    @Override
    public long number() {
        return number;
    }

    @Override
    public TurnOutcome commit(ObjectNode position, Admission admission) {
        return session.commit(this, position, admission);
    }

    @Override
    public void abandon() {
        session.abandon(this);
    }
}
