package dev.crab.runtime.session;

/**
 * How many sandboxes are restored ahead and parked, so that going back to their turns takes no restore. Each takes the memory that its
 * processes have, and the time of a restore behind every commit that saved something.
 *
 * @param perSession for each open session, of the newest checkpoints; 0 to 16; 0: none
 * @param memory bytes that all of a runtime's parked processes may have together; beyond that no more are parked
 */
public record StandbyPolicy(int perSession, long memory) {
    /** None. */
    public static final StandbyPolicy NONE = new StandbyPolicy(0, 0);

    public StandbyPolicy {
        if (perSession < 0 || perSession > 16 || memory < 0) {
            throw new IllegalArgumentException(perSession + " parked sandboxes in " + memory + " bytes cannot be");
        }
    }
}
