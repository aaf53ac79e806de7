package dev.crab.runtime.inspector;

/**
 * One process, told apart from a later one that got the same number.
 *
 * @param pid on the host
 * @param startTime clock ticks since boot
 * @param insidePid as the sandbox numbers it
 * @param name the command name when it was first seen
 */
record ProcessRef(int pid, long startTime, int insidePid, String name) {
    @Override
    public String toString() {
        return "pid " + insidePid + " (" + name + ")";
    }

    /** Names change by exec and prctl; the process stays the same. */
    @Override
    public boolean equals(Object other) {
        return other instanceof ProcessRef that && pid == that.pid && startTime == that.startTime;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(startTime * 31 + pid);
    }
}
