package dev.crab.runtime.engine;

import dev.crab.runtime.inspector.Effect;

/**
 * The caller's part of a capture, run on the capturing thread while the sandbox is held still (where only pid 1 runs, it is not frozen:
 * nothing is there that could move). Keep it short. An exception ends the capture, lets the sandbox run on and comes out of it.
 */
public interface FrozenHook {
    /**
     * Judges again: returns what has to be saved. Called before anything is taken, and only where a snapshot alone was asked for: a dump
     * leaves nothing that a second judgement could add.
     */
    Effect judge();

    /**
     * Everything has been taken: what happens from here on belongs to the next turn. Not called if the capture failed before; the
     * capture as a whole may still fail afterwards.
     */
    void taken();
}
