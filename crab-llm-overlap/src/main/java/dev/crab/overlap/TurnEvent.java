package dev.crab.overlap;

/** What moves a session from one {@link TurnState} to another. */
enum TurnEvent {
    /** A tool passes the gate. */
    TOOL_STARTS,
    /** A tool ends while others still run. */
    TOOL_ENDS,
    /** The last running tool ends. */
    LAST_TOOL_ENDS,
    /** An LLM request is about to leave, or an invocation has its answer. */
    BOUNDARY,
    /** The commit record is durable. */
    COMMITTED,
    /** The capture or the commit failed. */
    COMMIT_FAILED,
    /** The invocation ended by an error: what it did becomes part of the next turn. */
    GIVEN_UP,
    /** The session is released. */
    CLOSE
}
