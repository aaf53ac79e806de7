package dev.crab.samples.store;

/**
 * What became of a session behind a fault.
 *
 * @param kind what it is
 * @param detail the turn, the code, or what is wrong
 */
record Verdict(Kind kind, String detail) {
    /** From good to bad. */
    enum Kind {
        /** All of it is of one turn, and of the right one. */
        WHOLE,
        /** A typed exception says why it cannot be opened. */
        REFUSED,
        /** Parts of different turns, a committed turn that is gone, or a failure that Crab has no code for. */
        MIX
    }

    static Verdict whole(long turn) {
        return new Verdict(Kind.WHOLE, Long.toString(turn));
    }

    static Verdict refused(String code) {
        return new Verdict(Kind.REFUSED, code);
    }

    static Verdict mix(String what) {
        return new Verdict(Kind.MIX, what);
    }
}
