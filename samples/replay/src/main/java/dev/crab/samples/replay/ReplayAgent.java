package dev.crab.samples.replay;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.samples.common.Events;
import dev.crab.samples.common.Recording;
import dev.crab.samples.common.RecordingFormat;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The JVM of the agents. It is started with the same plan whether it is the first time or after a crash.
 *
 * <p>Its events: {@code opened} (agent, turn it was brought back to, milliseconds), {@code turn} (agent, {@link TurnRow}), {@code probe}
 * (agent, answer), {@code finished} (agent, answer), {@code failed} (agent, message). On standard input it takes lines {@code probe AGENT} and {@code go};
 * its end, however it came, ends the JVM.
 */
final class ReplayAgent {
    private final Events events = new Events(System.out);
    private final Map<String, Policy.Life> lives = new ConcurrentHashMap<>();
    private final Map<String, Recording> recordings = new ConcurrentHashMap<>();
    private final CountDownLatch told = new CountDownLatch(1);
    private final AtomicBoolean failed = new AtomicBoolean();

    private ReplayAgent() {}

    public static void main(String[] arguments) throws Exception {
        System.exit(new ReplayAgent().run(AgentPlan.read(Path.of(arguments[0]))));
    }

    private int run(AgentPlan plan) throws Exception {
        Thread commands = new Thread(this::takeCommands, "driver-watch");
        commands.setDaemon(true);
        commands.start();
        if (!plan.waits()) {
            told.countDown();
        }
        CyclicBarrier opened = new CyclicBarrier(plan.agents().size());
        try (Policy policy = Policies.open(plan)) {
            for (AgentPlan.Agent agent : plan.warmUp()) {
                warmUp(policy, agent);
            }
            List<Thread> threads = new ArrayList<>();
            for (AgentPlan.Agent agent : plan.agents()) {
                long delay = plan.staggerMillis() * threads.size();
                Thread thread = new Thread(() -> run(policy, agent, opened, delay), "agent-" + agent.name());
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        return failed.get() ? 1 : 0;
    }

    /** Runs an agent of which nothing is told. */
    private static void warmUp(Policy policy, AgentPlan.Agent agent) throws IOException {
        try (Policy.Life life = policy.open(agent, RecordingFormat.read(Path.of(agent.recording())), row -> {})) {
            life.work();
        }
    }

    private void run(Policy policy, AgentPlan.Agent agent, CyclicBarrier opened, long delay) {
        try {
            Recording recording = RecordingFormat.read(Path.of(agent.recording()));
            recordings.put(agent.name(), recording);
            long begin = System.nanoTime();
            try (Policy.Life life = policy.open(
                    agent, recording, row -> events.emit("turn", Map.of("agent", agent.name(), "row", row)))) {
                long millis = (System.nanoTime() - begin) / 1_000_000;
                lives.put(agent.name(), life);
                events.emit("opened", Map.of("agent", agent.name(), "turn", life.recovered(), "restoreMillis", millis));
                opened.await();
                told.await();
                Thread.sleep(delay);
                events.emit("finished", Map.of("agent", agent.name(), "answer", life.work()));
            }
        } catch (Exception | Error failure) {
            failed.set(true);
            opened.reset();
            events.emit("failed", Map.of("agent", agent.name(), "message", failure.toString()));
            failure.printStackTrace();
        }
    }

    private void takeCommands() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.equals("go")) {
                    told.countDown();
                } else if (line.startsWith("probe ")) {
                    probe(line.substring("probe ".length()));
                }
            }
        } catch (IOException e) {
            // The same as its end.
        }
        Runtime.getRuntime().halt(3);
    }

    private void probe(String agent) {
        String answer;
        try {
            Recording recording = recordings.get(agent);
            Policy.Life life = lives.get(agent);
            answer = life == null || recording == null || recording.probe() == null
                    ? "(no such agent)"
                    : life.sandbox()
                            .exec(ExecRequest.of("/bin/bash", "-c", recording.probe())
                                    .withWorkingDirectory(recording.directory())
                                    .withTimeout(recording.timeout()))
                            .text();
        } catch (RuntimeException | Error e) {
            answer = "(failed: " + CrabException.reason(e) + ")";
        }
        events.emit("probe", Map.of("agent", agent, "answer", answer));
    }
}
