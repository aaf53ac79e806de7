package dev.crab.overlap;

/** Where a session stands between two commits. */
public enum TurnState {
    /** No turn is open; everything that was done is committed. */
    QUIET("no turn open"),
    /** A turn is open and tools run in it. */
    RUNNING("tools run"),
    /** A turn is open and none of its tools runs. */
    OPEN("turn open, no tool runs"),
    /** A boundary was reached while tools of another invocation run: the commit starts when the last of them ends. */
    DUE("commit due when the last tool ends"),
    /** The turn is being captured, made durable and committed; tools wait at the gate. */
    COMMITTING("capture and commit, gate shut"),
    /** The commit failed; the turn is still open and the commit before it is the recovery point. */
    UNCOMMITTED("commit failed, turn open"),
    /** The session is released. */
    CLOSED("released");

    private final String label;

    TurnState(String label) {
        this.label = label;
    }

    /** What the state means, for diagrams and messages. */
    public String label() {
        return label;
    }
}
