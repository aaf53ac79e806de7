package dev.crab.samples.truth;

import dev.crab.runtime.os.Cgroup;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory.Place;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxProcesses;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.snapshot.Volume;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** A real sandbox on a file system under test, with the puppet in it, and the host's grip on it. Not thread-safe. */
final class Arena implements AutoCloseable {
    /** Where the puppet lies within the sandbox. */
    static final String PUPPET = "/" + NativeProgram.PUPPET.fileName();

    /** What the names of its sandboxes begin with. */
    static final String PREFIX = "truth-";

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration COMMAND_PATIENCE = Duration.ofSeconds(30);
    private static final Duration RESTLESS = Duration.ofMillis(300);

    private final Ground.Type type;
    private final Place place;
    private final RunningSandbox sandbox;
    private final Cgroup cgroup;

    /** The default limits, over the image of that directory. */
    static SandboxSpec spec(Path image) {
        return SandboxSpec.defaults().withImage(new SandboxImage.Directory(image));
    }

    /** A sandbox with the default limits, over the image of that directory. */
    Arena(Ground ground, Path image, SandboxFactory factory) throws IOException {
        this(ground, spec(image), factory);
    }

    /**
     * Makes and starts the sandbox.
     *
     * @param ground holds its writable layer
     * @param spec its image, a directory, and its limits
     * @param factory makes it
     */
    Arena(Ground ground, SandboxSpec spec, SandboxFactory factory) throws IOException {
        this.type = ground.type();
        String id = PREFIX + UUID.randomUUID();
        Volume volume = new Volume(id, ground.directory().resolve(id));
        if (type == Ground.Type.BTRFS) {
            Host.run("btrfs", "-q", "subvolume", "create", volume.directory().toString()); // as a session has it
        }
        Files.createDirectories(volume.upper());
        Files.createDirectories(volume.work());
        this.place = factory.prepare(id, spec, volume);
        try {
            NativeProgram.PUPPET.install(place.mount());
            this.sandbox = place.start();
        } catch (IOException | RuntimeException e) {
            place.close();
            throw e;
        }
        this.cgroup = Cgroups.detect().group(id);
    }

    Ground.Type fileSystem() {
        return type;
    }

    Sandbox sandbox() {
        return sandbox;
    }

    SandboxProcesses processes() {
        return sandbox.processes();
    }

    /** Runs a line of bash in that directory. */
    ExecResult bash(String directory, String line) {
        return exec(directory, List.of("/bin/bash", "-c", line));
    }

    /** Has the puppet perform operations in that directory. */
    ExecResult puppet(String directory, List<String> operations) {
        List<String> command = new ArrayList<>(operations);
        command.add(0, PUPPET);
        return exec(directory, command);
    }

    private ExecResult exec(String directory, List<String> command) {
        return sandbox.exec(ExecRequest.of(command.toArray(String[]::new))
                .withWorkingDirectory(directory)
                .withTimeout(COMMAND_PATIENCE));
    }

    /** What is done while the sandbox is frozen. */
    interface FrozenAction<T> {
        T run() throws IOException;
    }

    /** Holds the sandbox still meanwhile. */
    <T> T frozen(FrozenAction<T> action) throws IOException {
        cgroup.freeze();
        try {
            return action.run();
        } finally {
            cgroup.thaw();
        }
    }

    /** Ends every process but pid 1. */
    void killSurvivors() throws IOException {
        await(() -> {
            List<Integer> left = survivors();
            left.forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
            return left.isEmpty();
        });
    }

    /** Waits until every survivor sleeps or is stopped, and none ran for that long; gives up soon, for some never rest. */
    void awaitRest(Duration quiet) {
        long deadline = System.nanoTime() + RESTLESS.toNanos();
        Map<Integer, String> before = runs();
        while (System.nanoTime() < deadline) {
            boolean asleep = before.values().stream().allMatch(run -> run.startsWith("S") || run.startsWith("T"));
            LockSupport.parkNanos(asleep ? quiet.toNanos() : 100_000);
            if (asleep && quiet.isZero()) {
                return;
            }
            Map<Integer, String> now = runs();
            if (asleep && now.equals(before)) {
                return;
            }
            before = now;
        }
    }

    /** By survivor: its state, and how long it has run and waited. */
    private Map<Integer, String> runs() {
        Map<Integer, String> runs = new HashMap<>();
        for (int pid : survivors()) {
            try {
                String stat = text(pid, "stat");
                runs.put(pid, stat.substring(stat.lastIndexOf(')') + 2) + text(pid, "schedstat"));
            } catch (NoSuchFileException e) {
                runs.put(pid, "gone");
            } catch (IOException e) {
                runs.put(pid, "going");
            }
        }
        return runs;
    }

    private static String text(int pid, String file) throws IOException {
        return Files.readString(Path.of("/proc", Integer.toString(pid), file), StandardCharsets.ISO_8859_1);
    }

    /**
     * By survivor, with its pid within the sandbox: where each of its threads waits (call, stack, instruction). One with a thread that does
     * not wait is left out.
     */
    Map<Integer, String> waits() {
        Map<Integer, String> waits = new HashMap<>();
        for (int pid : survivors()) {
            try (Stream<Path> tasks = Files.list(Path.of("/proc", Integer.toString(pid), "task"))) {
                StringBuilder where = new StringBuilder();
                for (Path task : tasks.sorted().toList()) {
                    String[] call =
                            Files.readString(task.resolve("syscall")).strip().split(" ", -1);
                    where.append(task.getFileName()).append(' ').append(call[0]);
                    where.append(' ').append(call[call.length - 2]).append(' ').append(call[call.length - 1]);
                    where.append('\n');
                }
                String status = text(pid, "status");
                String inner = status.substring(status.indexOf("\nNSpid:") + 7);
                inner = inner.substring(0, inner.indexOf('\n'));
                waits.put(Integer.valueOf(inner.substring(inner.lastIndexOf('\t') + 1)), where.toString());
            } catch (IOException | IndexOutOfBoundsException e) {
                // Gone, or a thread runs: left out.
            }
        }
        return waits;
    }

    boolean hasSurvivors() {
        return !survivors().isEmpty();
    }

    private List<Integer> survivors() {
        try {
            return cgroup.processes().stream()
                    .filter(pid -> pid != processes().initPid())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void await(BooleanSupplier condition) throws IOException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new IOException("the sandbox's processes do not end");
            }
            LockSupport.parkNanos(200_000);
        }
    }

    @Override
    public void close() {
        sandbox.close();
        place.close();
    }
}
