package dev.crab.samples.programs;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.TurnOutcome;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** What became of one program. Not thread-safe. */
final class Row {
    /** How a row is to be read. */
    enum Verdict {
        /** Every cycle passed. */
        OK,
        /** It was refused just as its description declares for this host. */
        LIMIT,
        /** Its description declares a limit for this host, and yet every cycle passed. */
        LIMIT_GONE,
        /** Anything else. */
        FAILED
    }

    private record Cycle(double captureMillis, double freezeMillis, double restoreMillis, double bytes) {}

    private final Program program;
    private final List<Cycle> cycles = new ArrayList<>();
    private @Nullable String problem;
    private boolean declared;

    Row(Program program) {
        this.program = program;
    }

    void passed(TurnOutcome outcome, Recovery.Restored restored) {
        cycles.add(new Cycle(
                outcome.captureNanos() / 1e6,
                outcome.freezeNanos() / 1e6,
                restored.restoreMillis(),
                outcome.bytesWritten()));
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

    int passedCycles() {
        return cycles.size();
    }

    /** Why it did not come through; null if it did. */
    @Nullable
    String problem() {
        return problem;
    }

    /** Median from the turn's end until the sandbox ran freely again, in ms; NaN where no cycle passed, as below. */
    double captureMillis() {
        return median(Cycle::captureMillis);
    }

    /** Median of the part of it in which the sandbox stood still, in ms. */
    double freezeMillis() {
        return median(Cycle::freezeMillis);
    }

    /** Median from opening the session to the sandbox being verified and running, in ms. */
    double restoreMillis() {
        return median(Cycle::restoreMillis);
    }

    /** Median of what a turn wrote to the store. */
    double bytes() {
        return median(Cycle::bytes);
    }

    private double median(ToDoubleFunction<Cycle> field) {
        double[] sorted = cycles.stream().mapToDouble(field).sorted().toArray();
        int middle = sorted.length / 2;
        if (sorted.length == 0) {
            return Double.NaN;
        }
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
