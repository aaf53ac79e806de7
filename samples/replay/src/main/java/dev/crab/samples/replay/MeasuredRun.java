package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.samples.common.Events;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Some agents, side by side in one JVM, from their first requests to their last answers; nobody looks into their sandboxes meanwhile. */
final class MeasuredRun {
    private static final double WARM_UP_SPEED = 1000;

    private static final ReplayModel.Listener NOBODY = new ReplayModel.Listener() {
        @Override
        public void asked(int turn, JsonNode messages, long nanos) {}

        @Override
        public void answered(int turn, long nanos) {}

        @Override
        public void refused(List<String> faults) {}
    };

    /** What is noted of one agent. */
    private final class Agent implements ReplayModel.Listener {
        final Trajectory trajectory;
        final String name;
        final SandboxView view;
        final Map<Integer, TurnRow> turns = new TreeMap<>();
        private volatile Usage before = Usage.NONE;
        private volatile Usage after = Usage.NONE;
        private volatile long begun;
        private volatile long ended;
        private volatile String answer = "";
        private volatile String failure = "";

        Agent(Trajectory trajectory, String name) {
            this.trajectory = trajectory;
            this.name = name;
            this.view = lab.view(policy, name);
        }

        @Override
        public void asked(int turn, JsonNode messages, long nanos) {
            if (turn == 0) {
                begun = nanos;
                before = Usage.of(pid(), view.cgroup());
            } else if (turn == trajectory.turns()) {
                after = Usage.of(pid(), view.cgroup());
            }
        }

        @Override
        public void answered(int turn, long nanos) {
            ended = nanos;
        }

        @Override
        public void refused(List<String> faults) {
            failure = "the model refused the chat: " + faults;
        }

        void told(Events.Event event) {
            switch (event.kind()) {
                case "turn" -> {
                    TurnRow row = Json.read(event.body().path("row"), TurnRow.class);
                    turns.put(row.turn(), row);
                }
                case "finished" -> answer = event.body().path("answer").asText();
                case "failed" -> failure = event.body().path("message").asText();
                default -> {
                    // For others.
                }
            }
        }

        Measured result(int number, int place, int beside) throws IOException {
            String last = ReplayModel.lastAnswer(trajectory.recording());
            if (!answer.equals(last) || turns.size() != trajectory.turns()) {
                throw new IOException(trajectory.id() + " did not run to its end: "
                        + (failure.isEmpty()
                                ? "it reported " + turns.size() + " of " + trajectory.turns()
                                        + " turns, its answer is \"" + answer + "\""
                                : failure));
            }
            long waited = 0;
            for (int turn = 0; turn <= trajectory.turns(); turn++) {
                waited += Math.round(trajectory.wait(turn).toNanos() / lab.speed());
            }
            return new Measured(
                    policy,
                    trajectory.id(),
                    trajectory.recording().category(),
                    number,
                    place,
                    ended - begun,
                    waited,
                    List.copyOf(turns.values()),
                    (after.jvmCpu() - before.jvmCpu()) / beside,
                    after.sandboxCpu() - before.sandboxCpu(),
                    after.jvmPeak(),
                    after.sandboxPeak(),
                    after.machineShareSince(before));
        }
    }

    private final Lab lab;
    private final String policy;
    private volatile long jvm;

    MeasuredRun(Lab lab, String policy) {
        this.lab = lab;
        this.policy = policy;
    }

    private long pid() {
        return jvm;
    }

    /**
     * Runs them.
     *
     * @param number of the repetition
     * @param staggerMillis so much later than the one before it each agent begins
     */
    List<Measured> run(List<Trajectory> trajectories, int number, long staggerMillis)
            throws IOException, InterruptedException {
        return run(List.of(), trajectories, number, staggerMillis);
    }

    /**
     * Runs them in a JVM that has been running.
     *
     * @param warmUp are replayed before, one after the other, with next to no waits
     */
    List<Measured> run(List<Trajectory> warmUp, List<Trajectory> trajectories, int number, long staggerMillis)
            throws IOException, InterruptedException {
        List<AgentPlan.Agent> before = new ArrayList<>();
        for (Trajectory trajectory : warmUp) {
            before.add(plan(trajectory, lab.nextName(), WARM_UP_SPEED, NOBODY));
        }
        Map<String, Agent> agents = new ConcurrentHashMap<>();
        List<AgentPlan.Agent> plans = new ArrayList<>();
        for (Trajectory trajectory : trajectories) {
            Agent agent = new Agent(trajectory, lab.nextName());
            agents.put(agent.name, agent);
            plans.add(plan(trajectory, agent.name, lab.speed(), agent));
        }
        String first = plans.get(0).name();
        Path log = lab.log(first);
        try (LiveJvm process = lab.start(
                first,
                lab.plan(policy, false, staggerMillis, before, plans),
                true,
                event -> {
                    Agent agent = agents.get(event.body().path("agent").asText());
                    if (agent != null) {
                        agent.told(event);
                    }
                },
                status -> {})) {
            jvm = process.pid();
            process.awaitEnd();
            List<Measured> results = new ArrayList<>();
            for (int place = 0; place < plans.size(); place++) {
                Agent agent = Objects.requireNonNull(agents.get(plans.get(place).name()));
                results.add(agent.result(number, place, plans.size()));
            }
            return results;
        } catch (IOException e) {
            Refusal refused = Refusal.in(CrabException.reason(e)).orElse(null);
            if (refused != null) {
                throw refused;
            }
            throw new IOException(CrabException.reason(e) + (Files.exists(log) ? "\n" + Files.readString(log) : ""), e);
        } finally {
            before.addAll(plans);
            for (AgentPlan.Agent plan : before) {
                lab.remove(policy, plan.name());
            }
        }
    }

    private AgentPlan.Agent plan(Trajectory trajectory, String name, double speed, ReplayModel.Listener listener)
            throws IOException {
        return new AgentPlan.Agent(
                name,
                trajectory.file().toString(),
                lab.place(name).toString(),
                lab.model().register(name, trajectory, speed, listener));
    }
}
