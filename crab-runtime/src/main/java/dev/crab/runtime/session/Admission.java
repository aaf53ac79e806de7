package dev.crab.runtime.session;

import dev.crab.runtime.inspector.Effect;

/**
 * By which one commit waits for its turn on the host, so that many sandboxes do not dump and write all at once. Made by the layer above for
 * one attempt to commit and passed to {@link Turn#commit}, which calls the methods in the order in which they stand here, on one thread.
 *
 * <p>A turn without effect asks for nothing. While it waits for its capture the sandbox runs on, but requests of other threads wait with
 * it: what they did between judgement and capture would be in neither this turn nor the next.
 *
 * <p>Waiting must never cost a turn: the methods throw nothing, and each returns in bounded time, whether or not the commit's turn has come.
 */
public interface Admission {
    /** Nobody waits for anything. */
    Admission FREE = new Admission() {
        @Override
        public long awaitCapture(Effect effect) {
            return 0;
        }

        @Override
        public long awaitPersist(long bytes) {
            return 0;
        }

        @Override
        public void release(long bytes) {
            // There is nothing to give back.
        }
    };

    /**
     * The turn has left something behind and is about to be captured.
     *
     * @param effect the inspector's first judgement; not {@link Effect#NONE}
     * @return nanoseconds waited
     */
    long awaitCapture(Effect effect);

    /**
     * The capture is over and the sandbox runs again; what was captured is about to be made durable.
     *
     * @param bytes that the capture takes in memory and on the disk until then; 0 where only files were captured
     * @return nanoseconds waited
     */
    long awaitPersist(long bytes);

    /**
     * The attempt is over, well or not; called exactly once, and also where nothing was asked for.
     *
     * @param bytes written to the store, 0 where it failed
     */
    void release(long bytes);
}
