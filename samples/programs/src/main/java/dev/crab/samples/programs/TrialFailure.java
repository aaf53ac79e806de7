package dev.crab.samples.programs;

/** A program did not come through. */
final class TrialFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String why;

    TrialFailure(String why) {
        super(why);
        this.why = why;
    }

    String why() {
        return why;
    }
}
