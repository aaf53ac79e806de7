package dev.crab.overlap;

import static dev.crab.overlap.TurnEvent.BOUNDARY;
import static dev.crab.overlap.TurnEvent.CLOSE;
import static dev.crab.overlap.TurnEvent.COMMITTED;
import static dev.crab.overlap.TurnEvent.COMMIT_FAILED;
import static dev.crab.overlap.TurnEvent.GIVEN_UP;
import static dev.crab.overlap.TurnEvent.LAST_TOOL_ENDS;
import static dev.crab.overlap.TurnEvent.TOOL_ENDS;
import static dev.crab.overlap.TurnEvent.TOOL_STARTS;
import static dev.crab.overlap.TurnState.CLOSED;
import static dev.crab.overlap.TurnState.COMMITTING;
import static dev.crab.overlap.TurnState.DUE;
import static dev.crab.overlap.TurnState.OPEN;
import static dev.crab.overlap.TurnState.QUIET;
import static dev.crab.overlap.TurnState.RUNNING;
import static dev.crab.overlap.TurnState.UNCOMMITTED;

import dev.crab.overlap.table.TransitionTable;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;

/**
 * The turn's state machine as data. What is not in the table must not happen and is refused; the same table draws
 * {@code docs/turn-states.md}.
 */
final class TurnTransitions {
    private static final TransitionTable<TurnState, TurnEvent> TABLE =
            new TransitionTable<>(TurnState.class, TurnEvent.class);

    static {
        TABLE.row(QUIET)
                .on(TOOL_STARTS, RUNNING)
                .on(BOUNDARY, QUIET)
                .on(GIVEN_UP, QUIET)
                .on(CLOSE, CLOSED);
        TABLE.row(RUNNING)
                .on(TOOL_STARTS, RUNNING)
                .on(TOOL_ENDS, RUNNING)
                .on(LAST_TOOL_ENDS, OPEN)
                .on(BOUNDARY, DUE)
                .on(GIVEN_UP, RUNNING)
                .on(CLOSE, CLOSED);
        TABLE.row(OPEN)
                .on(TOOL_STARTS, RUNNING)
                .on(BOUNDARY, COMMITTING)
                .on(GIVEN_UP, QUIET)
                .on(CLOSE, CLOSED);
        TABLE.row(DUE)
                .on(TOOL_STARTS, DUE)
                .on(TOOL_ENDS, DUE)
                .on(LAST_TOOL_ENDS, COMMITTING)
                .on(BOUNDARY, DUE)
                .on(GIVEN_UP, DUE)
                .on(CLOSE, CLOSED);
        TABLE.row(COMMITTING)
                .on(BOUNDARY, COMMITTING)
                .on(COMMITTED, QUIET)
                .on(COMMIT_FAILED, UNCOMMITTED)
                .on(GIVEN_UP, COMMITTING);
        TABLE.row(UNCOMMITTED)
                .on(TOOL_STARTS, RUNNING)
                .on(BOUNDARY, COMMITTING)
                .on(GIVEN_UP, QUIET)
                .on(CLOSE, CLOSED);
        TABLE.row(CLOSED).on(CLOSE, CLOSED).on(GIVEN_UP, CLOSED);
    }

    private TurnTransitions() {}

    /**
     * The state after the event.
     *
     * @throws CrabException STATE_INVALID if the session is closed; INTERNAL if the event must not happen in that state
     */
    static TurnState next(TurnState state, TurnEvent event) {
        return TABLE.next(state, event)
                .orElseThrow(() -> state == CLOSED
                        ? CrabException.of(
                                ErrorCode.STATE_INVALID,
                                "the turn cannot go on",
                                "its session was closed meanwhile",
                                "open the session again: the same call, made again, goes on where it stands")
                        : CrabException.of(
                                ErrorCode.INTERNAL,
                                "the turn cannot go on",
                                event + " must not happen while the session is " + state,
                                "report this"));
    }

    /** The table as a mermaid state diagram. */
    static String diagram() {
        return TABLE.diagram(QUIET, CLOSED, TurnState::label);
    }
}
