package dev.crab.runtime.criu;

/**
 * CRIU could not do what it was asked to. Internal to the layers above, which say what it means for a sandbox.
 *
 * <p>Three ways to fail, which differ in what may be left of the processes: see {@link Kind}.
 */
public final class CriuFailure extends Exception {
    private static final long serialVersionUID = 1L;

    /** What a failure may have left behind. */
    public enum Kind {
        /** CRIU never began: nothing was touched. */
        NOT_BEGUN,
        /** CRIU answered that it failed, and undid what it had begun. */
        REFUSED,
        /** CRIU ended or had to be ended in the middle: the processes may be damaged. */
        BROKEN_OFF
    }

    private final Kind kind;

    CriuFailure(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    CriuFailure(Kind kind, String message, Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    public Kind kind() {
        return kind;
    }
}
