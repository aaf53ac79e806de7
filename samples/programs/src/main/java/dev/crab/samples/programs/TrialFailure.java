package dev.crab.samples.programs;

/** A program did not come through. */
final class TrialFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    TrialFailure(String message) {
        super(message);
    }
}
