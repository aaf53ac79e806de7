package dev.crab.samples.programs;

/** What became of one program's rollback and branches. Not thread-safe. */
final class BranchRow extends Result {
    private double rollbackMillis = Double.NaN;
    private double branchMillis = Double.NaN;
    private int passed;

    BranchRow(Program program) {
        super(program);
    }

    void wentBack(long nanos) {
        rollbackMillis = nanos / 1e6;
    }

    void branched(long nanos) {
        branchMillis = nanos / 1e6;
    }

    /** One more branch had exactly what is its own. */
    void passed() {
        passed++;
    }

    int passedBranches() {
        return passed;
    }

    /** From the call until a command can run, in ms; NaN if it did not come so far, as below. */
    double rollbackMillis() {
        return rollbackMillis;
    }

    /** Until a command can run in every branch, in ms; the sum of all where they were made one after the other. */
    double branchMillis() {
        return branchMillis;
    }
}
