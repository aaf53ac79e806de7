package dev.crab.samples.programs;

import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.TurnOutcome;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** What became of one program's cycles. Not thread-safe. */
final class Row extends Result {
    private record Cycle(double captureMillis, double freezeMillis, double restoreMillis, double bytes) {}

    private final List<Cycle> cycles = new ArrayList<>();

    Row(Program program) {
        super(program);
    }

    void passed(TurnOutcome outcome, Recovery.Restored restored) {
        cycles.add(new Cycle(
                outcome.captureNanos() / 1e6,
                outcome.freezeNanos() / 1e6,
                restored.restoreMillis(),
                outcome.bytesWritten()));
    }

    int passedCycles() {
        return cycles.size();
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
