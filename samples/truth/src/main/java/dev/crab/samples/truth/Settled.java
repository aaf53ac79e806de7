package dev.crab.samples.truth;

/**
 * How often the memory that a thaw leaves a survivor was taken for the state before the next turn ({@link Harness#settle}).
 *
 * @param taken processes and turns where it was
 * @param refused where memory differed and it was not, because something else of the process did, or it did not wait as before
 */
record Settled(int taken, int refused) {
    static final Settled NEVER = new Settled(0, 0);

    Settled plus(Settled other) {
        return new Settled(taken + other.taken, refused + other.refused);
    }
}
