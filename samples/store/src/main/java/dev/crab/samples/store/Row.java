package dev.crab.samples.store;

import java.io.IOException;

/** One kind of fault. */
interface Row {
    /** Tries every point of it. */
    void run(Plan plan, Tally tally) throws IOException;
}
