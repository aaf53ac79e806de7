package dev.crab.runtime.inspector;

import java.nio.file.Path;

/**
 * Learns from the kernel what turns do. One per JVM; follows any number of sandboxes. Implementations are thread-safe.
 *
 * <p>An inspector errs only toward saving: whatever it cannot see or does not know must come out as {@link Effect#FULL}.
 */
public interface TurnInspector extends AutoCloseable {
    /** Stable name of the tier ({@code tracepoint}, {@code always}, …), for reports. */
    String tier();

    /**
     * Starts to follow a sandbox. From here on everything it does counts as part of the turn that {@link Watch#judge} ends next.
     * The watch must be opened while the sandbox's state is known (just created, or just restored and not yet running).
     */
    Watch watch(InspectionTarget target);

    /**
     * Begins, in the background, what takes long of watching the sandbox that is going to be in that cgroup. The caller closes the result
     * if {@link Expected#watch} was not called or has failed.
     *
     * @param cgroup exists, with no process in it
     */
    default Expected expect(Path cgroup) {
        return this::watch;
    }

    /** Stops following every sandbox and unloads the programs. */
    @Override
    void close();

    /** A sandbox that is going to be watched. */
    @FunctionalInterface
    interface Expected extends AutoCloseable {
        /** As {@link TurnInspector#watch}, once. */
        Watch watch(InspectionTarget target);

        /** It is not going to be watched after all. Idempotent; nothing once it is watched. */
        @Override
        default void close() {}
    }

    /** One sandbox under inspection. Calls must not overlap: one turn at a time. */
    interface Watch extends AutoCloseable {
        /** Something is about to run at somebody's request: attaches what is needed only while it does. Idempotent until {@link #judge}. */
        void begin();

        /**
         * The boundary: judges everything since the last {@link #rebase} (or since the watch was opened), including what survivors did
         * between turns. Does not freeze the sandbox and changes no baseline, so that it can be asked again under the freeze.
         */
        TurnEffects judge();

        /**
         * The state that was judged last is now saved, or needed no saving: what happens from here on belongs to the next turn.
         * Call it while the sandbox is held still, or, after {@link Effect#NONE}, right behind {@link #judge}.
         */
        void rebase();

        /** Stops following this sandbox. */
        @Override
        void close();
    }
}
