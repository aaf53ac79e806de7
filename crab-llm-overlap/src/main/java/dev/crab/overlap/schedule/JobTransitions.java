package dev.crab.overlap.schedule;

import static dev.crab.overlap.schedule.JobEvent.CAPTURE_ENDED;
import static dev.crab.overlap.schedule.JobEvent.ENDED;
import static dev.crab.overlap.schedule.JobEvent.GRANTED;
import static dev.crab.overlap.schedule.JobEvent.PROMOTED;
import static dev.crab.overlap.schedule.JobState.CAPTURED;
import static dev.crab.overlap.schedule.JobState.CAPTURING;
import static dev.crab.overlap.schedule.JobState.OVER;
import static dev.crab.overlap.schedule.JobState.PERSISTING;
import static dev.crab.overlap.schedule.JobState.WAITING;

import dev.crab.overlap.table.TransitionTable;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;

/** A job's state machine as data; the same table draws the diagram in {@code docs/scheduler-states.md}. */
final class JobTransitions {
    private static final TransitionTable<JobState, JobEvent> TABLE =
            new TransitionTable<>(JobState.class, JobEvent.class);

    static {
        TABLE.row(WAITING).on(PROMOTED, WAITING).on(GRANTED, CAPTURING).on(ENDED, OVER);
        TABLE.row(CAPTURING).on(PROMOTED, CAPTURING).on(CAPTURE_ENDED, CAPTURED).on(ENDED, OVER);
        TABLE.row(CAPTURED).on(PROMOTED, CAPTURED).on(GRANTED, PERSISTING).on(ENDED, OVER);
        TABLE.row(PERSISTING).on(PROMOTED, PERSISTING).on(ENDED, OVER);
        TABLE.row(OVER).on(PROMOTED, OVER).on(ENDED, OVER);
    }

    private JobTransitions() {}

    /**
     * The state after the event.
     *
     * @throws CrabException INTERNAL if the event must not happen in that state
     */
    static JobState next(JobState state, JobEvent event) {
        return TABLE.next(state, event)
                .orElseThrow(() -> CrabException.of(
                        ErrorCode.INTERNAL,
                        "a capture cannot be scheduled",
                        event + " must not happen while it is " + state,
                        "report this"));
    }

    static String diagram() {
        return TABLE.diagram(WAITING, OVER, JobState::label);
    }
}
