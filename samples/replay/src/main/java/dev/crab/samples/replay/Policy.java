package dev.crab.samples.replay;

import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.samples.common.Recording;
import java.io.IOException;
import java.util.function.Consumer;

/**
 * How an agent comes back after its JVM was killed. One for all agents of a JVM; thread-safe.
 *
 * <p>{@link #open} is called first in each life of an agent, with nothing to tell the first from later ones but what the policy itself
 * has kept.
 */
interface Policy extends AutoCloseable {
    /**
     * Makes or brings back an agent's sandbox.
     *
     * @param turns is told what was done for each turn
     */
    Life open(AgentPlan.Agent agent, Recording recording, Consumer<TurnRow> turns) throws IOException;

    /** Ends the sandboxes that are left. */
    @Override
    void close();

    /** An agent from its opening to its end, or to its JVM's. Closing it ends the sandbox. */
    interface Life extends AutoCloseable {
        Sandbox sandbox();

        /** The turn that the sandbox was brought back to; 0 if it is as it was when the trajectory began. */
        int recovered();

        /** Runs the agent to its last answer, by its task or from where it was. */
        String work();

        @Override
        void close();
    }
}
