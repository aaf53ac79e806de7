package dev.crab.samples.programs;

import dev.crab.runtime.error.CrabException;
import org.jspecify.annotations.Nullable;

/** What became of one program, whatever it was taken through. Not thread-safe. */
abstract class Result {
    /** How it is to be read. */
    enum Verdict {
        /** It came through. */
        OK,
        /** It was refused just as its description declares for this host. */
        LIMIT,
        /** Its description declares a limit for this host, and yet it came through. */
        LIMIT_GONE,
        /** Anything else. */
        FAILED
    }

    private final Program program;
    private @Nullable String problem;
    private boolean declared;

    Result(Program program) {
        this.program = program;
    }

    void failed(String why) {
        problem = why;
    }

    void refused(CrabException refusal) {
        problem = refusal.getMessage();
        Limit limit = program.limit();
        declared = limit != null && limit.isMetBy(refusal);
    }

    Program program() {
        return program;
    }

    Verdict verdict() {
        if (problem != null) {
            return declared ? Verdict.LIMIT : Verdict.FAILED;
        }
        return program.limit() == null ? Verdict.OK : Verdict.LIMIT_GONE;
    }

    /** Why it did not come through; null if it did. */
    @Nullable
    String problem() {
        return problem;
    }
}
