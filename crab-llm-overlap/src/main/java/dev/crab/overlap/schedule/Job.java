package dev.crab.overlap.schedule;

/** One turn's capture in an {@link AdmissionQueue}, which alone changes it. */
final class Job {
    final long sequence;
    final String sandbox;
    final JobKind kind;
    /** By how much its deadline was put off for what the sandbox had used before. */
    final long postponed;

    JobState state;
    long due;
    /** Bytes of what was captured; 0 before. */
    long unwritten;

    boolean promoted;
    /** When it came into its present state. */
    long since;

    Job(long sequence, String sandbox, JobKind kind, JobState state, long due, boolean promoted, long postponed) {
        this.sequence = sequence;
        this.sandbox = sandbox;
        this.kind = kind;
        this.state = state;
        this.due = due;
        this.promoted = promoted;
        this.postponed = postponed;
    }

    JobState state() {
        return state;
    }

    @Override
    public String toString() {
        return sandbox + " " + kind + " " + state + (promoted ? ", promoted, due " : ", due ") + due;
    }
}
