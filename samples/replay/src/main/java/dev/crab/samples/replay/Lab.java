package dev.crab.samples.replay;

import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.session.SessionArchive;
import dev.crab.samples.common.AgentJvm;
import dev.crab.samples.common.Events;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What all runs of one invocation share: the model, the command that starts a JVM of agents, the data directory. Thread-safe. */
final class Lab implements AutoCloseable {
    private final Path image;
    private final Map<String, String> copies;
    private final double speed;
    private final PrintStream err;
    private final Path data = CrabConfig.resolve().data();
    private final Path directory = Files.createTempDirectory("crab-replay-");
    private final AgentJvm jvm = new AgentJvm(directory, ReplayAgent.class, false);
    private final ReplayModel model = new ReplayModel();
    private final CrabRuntime runtime = CrabRuntime.builder().build();
    private final PlainStore store = new PlainStore(data);
    private final AtomicInteger runs = new AtomicInteger();
    private final Map<String, String> present = new ConcurrentHashMap<>();
    private @Nullable Podman podman;
    private final Thread interruption = new Thread(this::interrupted, "replay-clean-up");
    private final String prefix =
            "replay-" + Long.toString(ProcessHandle.current().pid(), 36) + "-"
                    + Long.toString(System.currentTimeMillis(), 36) + "-";

    /**
     * Makes it.
     *
     * @param image the sandboxes' root file system; null for Crab's own
     * @param copies directories of the sandbox, and those of the host whose files are put there before the set-up
     * @param speed divides every wait for the model
     */
    Lab(@Nullable Path image, Map<String, Path> copies, double speed, PrintStream err) throws IOException {
        this.image = image == null ? data.resolve("images/debian") : image.toAbsolutePath();
        this.copies = new LinkedHashMap<>();
        copies.forEach((to, from) -> this.copies.put(to, from.toAbsolutePath().toString()));
        this.speed = speed;
        this.err = err;
        Runtime.getRuntime().addShutdownHook(interruption);
    }

    /** Where the trajectories are that Crab ships. */
    Path shipped() throws IOException {
        Path shipped = directory.resolve("shipped");
        if (!Files.isDirectory(shipped)) {
            Trajectory.unpackShipped(shipped);
        }
        return shipped;
    }

    Path image() {
        return image;
    }

    double speed() {
        return speed;
    }

    ReplayModel model() {
        return model;
    }

    void say(String line) {
        err.println(line);
    }

    /** A name that no other agent has. */
    String nextName() {
        return prefix + runs.incrementAndGet();
    }

    /** An agent's own directory; made if missing. */
    Path place(String name) throws IOException {
        return Files.createDirectories(directory.resolve(name));
    }

    Path log(String name) throws IOException {
        return place(name).resolve("agent.log");
    }

    /** The sandbox of an agent, from outside. */
    SandboxView view(String policy, String name) {
        String sandbox = store.data.sandbox(name);
        return new SandboxView(
                policy.equals(Policies.PODMAN)
                        ? () -> PodmanGroup.of(sandbox)
                        : () -> Cgroups.detect().group(sandbox));
    }

    AgentPlan plan(
            String policy,
            boolean waits,
            long staggerMillis,
            List<AgentPlan.Agent> warmUp,
            List<AgentPlan.Agent> agents) {
        return new AgentPlan(policy, data.toString(), image.toString(), copies, waits, staggerMillis, warmUp, agents);
    }

    /**
     * Starts a JVM of agents.
     *
     * @param endsItself whether nobody will kill it, so that it can keep its classes for the next ones if none has yet
     */
    LiveJvm start(
            String name, AgentPlan plan, boolean endsItself, Consumer<Events.Event> listener, Consumer<Integer> ended)
            throws IOException {
        if (plan.policy().equals(Policies.PODMAN)) {
            podman();
        }
        Stream.concat(plan.warmUp().stream(), plan.agents().stream())
                .forEach(agent -> present.put(agent.name(), plan.policy()));
        Path file = place(name).resolve("plan.json");
        plan.write(file);
        List<String> command = new ArrayList<>(jvm.command(
                List.of("crab.data=" + data, "crab.enabled=" + plan.policy().equals(Policies.CRAB)), endsItself));
        command.add(file.toString());
        return new LiveJvm(command, log(name), listener, ended);
    }

    /** The newest turn of an agent that its policy has saved durably; that policy must save turns. */
    int saved(String policy, String name) throws IOException {
        if (!policy.equals(Policies.CRAB)) {
            PlainStore.Saved saved = PlainStore.saved(place(name));
            return saved == null ? 0 : saved.turn();
        }
        List<SessionArchive.CommittedTurn> turns = runtime.archive(name).turns();
        return turns.isEmpty() ? 0 : (int) turns.get(turns.size() - 1).commit().turn() - 1;
    }

    /** What another invocation that was killed has left of it goes first. */
    private synchronized Podman podman() throws IOException {
        Podman there = podman;
        if (there == null) {
            there = new Podman(data);
            there.removeAll();
            podman = there.prepare();
        }
        return there;
    }

    /** Removes what an agent has left on the disk. Its JVM must have ended. */
    void remove(String policy, String name) throws IOException {
        model.forget(name);
        present.remove(name);
        if (policy.equals(Policies.CRAB)) {
            try {
                runtime.delete(name);
            } catch (CrabException e) {
                say("session " + name + " is left: " + e.getMessage());
            }
        } else if (policy.equals(Policies.PODMAN)) {
            podman().remove(store.data.sandbox(name));
            podman().keepOnly(name, null);
        } else {
            store.sweep(name, null);
        }
        delete(directory.resolve(name));
    }

    private static void delete(Path path) throws IOException {
        try (Stream<Path> all = Files.walk(path)) {
            for (Path one : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(one);
            }
        }
    }

    private void interrupted() {
        LiveJvm.stopAll();
        try {
            for (Map.Entry<String, String> agent : present.entrySet()) {
                remove(agent.getValue(), agent.getKey());
            }
            release();
        } catch (IOException e) {
            say("not everything could be removed: " + e);
        }
    }

    @Override
    public void close() throws IOException {
        try {
            Runtime.getRuntime().removeShutdownHook(interruption);
        } catch (IllegalStateException e) {
            return; // the JVM is being ended, and the hook at work
        }
        release();
    }

    private void release() throws IOException {
        model.close();
        store.dropGrounds();
        if (podman != null) {
            podman.removeAll();
        }
        store.close();
        runtime.close();
        delete(directory);
    }
}
