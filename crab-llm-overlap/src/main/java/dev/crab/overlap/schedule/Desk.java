package dev.crab.overlap.schedule;

import java.util.function.Consumer;

/**
 * Where the jobs of this process ask: a queue of its own, or that of another process. Called with the scheduler's lock held; never waits.
 */
interface Desk extends AutoCloseable {
    /**
     * What a job asks for.
     *
     * @param sandbox a name that no other sandbox of this process has
     * @param state {@link JobState#WAITING} for a new one, else where it stands, since the desk that it asked before is gone
     * @param dueIn nanoseconds until the response is expected; may be negative
     * @param promoted whether the response is there
     * @param unwritten bytes of what was captured, in the states that follow; else 0
     */
    record Application(String sandbox, JobKind kind, JobState state, long dueIn, boolean promoted, long unwritten) {}

    /** One job at a desk. */
    interface Place {
        /** The response has arrived. */
        void promote();

        /** The capture is over, and has so many bytes to be written. */
        void captured(long bytes);

        /** The job goes on without having been granted anything. */
        void force();

        /** The job is over, and has written so many bytes. */
        void end(long bytes);
    }

    /**
     * A job comes in.
     *
     * @param granted told, with the lock held, what the job may do now; possibly before this method returns
     */
    Place enter(Application application, Consumer<JobState> granted);

    /** Lets go of all jobs without granting anything. Idempotent. */
    @Override
    void close();
}
