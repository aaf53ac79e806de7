package dev.crab.runtime.criu;

/** What to do while CRIU waits at a phase. Runs on the thread that called dump or restore. */
@FunctionalInterface
public interface CriuNotify {
    /**
     * CRIU is at that phase and waits. An exception makes CRIU give up and undo; it comes out of the call that it interrupted.
     *
     * @param pid host pid of the tree's root, or 0 if there is none yet
     */
    void reached(CriuPhase phase, int pid);
}
