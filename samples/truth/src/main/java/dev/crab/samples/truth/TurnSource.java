package dev.crab.samples.truth;

import java.io.IOException;
import java.util.function.Consumer;

/** Where turns come from: hand-written kinds, a generator, recorded sessions, … */
interface TurnSource {
    /** Runs its turns in the harness's sandbox, one after the other, and hands out each with its labels. */
    void run(Harness harness, Consumer<LabelledTurn> labelled) throws IOException;
}
