package dev.crab.samples.replay;

import java.util.function.Supplier;

/** Saves an agent's turns by a policy without Crab. */
interface TurnSaver {
    /** Begins to save a turn; what is given back waits until it is saved, and tells what that cost. */
    Supplier<TurnRow> begin(int turn);
}
