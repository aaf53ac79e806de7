package dev.crab.samples.replay;

import dev.crab.samples.common.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What one JVM of agents is told, as JSON in a file.
 *
 * @param policy the label of the policy of recovery
 * @param data the data directory
 * @param image the sandboxes' root file system
 * @param copies directories of the sandbox, and those of the host whose files are put there before the set-up
 * @param waits whether each agent, once it has its sandbox, waits for the line {@code go} before it begins
 * @param staggerMillis so much later than the one before it each agent begins
 * @param warmUp agents that run one after the other before, so that the JVM is one that has been running
 * @param agents the agents
 */
record AgentPlan(
        String policy,
        String data,
        String image,
        Map<String, String> copies,
        boolean waits,
        long staggerMillis,
        List<Agent> warmUp,
        List<Agent> agents) {
    /**
     * An agent.
     *
     * @param name of its session, its sandbox and its events
     * @param recording the file that holds its trajectory
     * @param directory its own, for what its policy keeps outside the sandbox
     * @param model base URL of its model
     */
    record Agent(String name, String recording, String directory, String model) {
        Path place() {
            return Path.of(directory);
        }
    }

    void write(Path file) throws IOException {
        Files.writeString(file, Json.write(this));
    }

    static AgentPlan read(Path file) throws IOException {
        return Json.read(Json.read(Files.readString(file)), AgentPlan.class);
    }
}
