package dev.crab.overlap.schedule;

/** Where one turn's capture stands. */
enum JobState {
    /** It waits for its capture. */
    WAITING("waits to be captured"),
    /** It is being captured. */
    CAPTURING("capture"),
    /** The sandbox runs again; what was captured waits to be made durable. */
    CAPTURED("captured, waits to be written"),
    /** It is being made durable. */
    PERSISTING("persist and commit"),
    /** It is over, well or not. */
    OVER("over");

    private final String label;

    JobState(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    boolean isWaiting() {
        return this == WAITING || this == CAPTURED;
    }
}
