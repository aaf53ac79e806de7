package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.crab.runtime.store.SmallDisk;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * A small real sandbox: an overlay over the host's root whose writable layer lies on btrfs, a cgroup of its own, its own pid, mount, ipc,
 * uts and network namespaces, and a pid 1 that forks the commands. It has more privileges than a sandbox of Crab's, so that the tests can do what
 * the inspector must see though Crab's sandboxes forbid it.
 */
final class TestSandbox implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path directory;
    private final Path cgroup;
    private final Path merged;
    private final TestVolume btrfs;
    private final Process process;
    private final BufferedWriter commands;
    private final BufferedReader results;
    private final int initPid;

    TestSandbox() throws IOException {
        directory = Files.createTempDirectory("crab-inspector-");
        String id = directory.getFileName().toString();
        merged = Files.createDirectory(directory.resolve("merged"));
        btrfs = new TestVolume(Files.createDirectory(directory.resolve("btrfs")));
        Path volume = btrfs.directory();
        Path dev = Files.createDirectories(volume.resolve("upper/dev/shm")).getParent();
        run("mknod", "-m", "666", dev + "/null", "c", "1", "3");
        run("mknod", "-m", "666", dev + "/zero", "c", "1", "5");
        run("mknod", "-m", "666", dev + "/urandom", "c", "1", "9");
        run(
                "mount",
                "-t",
                "overlay",
                "overlay",
                "-o",
                "noatime,lowerdir=/,upperdir=" + volume + "/upper,workdir=" + volume + "/work",
                merged.toString());
        cgroup = Files.createDirectories(unified().resolve("crab").resolve(id));

        Path script = directory.resolve("init.py");
        try (InputStream in = TestSandbox.class.getResourceAsStream("init.py")) {
            Files.write(script, in.readAllBytes());
        }
        process = new ProcessBuilder(
                        "/bin/sh",
                        "-c",
                        "echo $$ > " + cgroup + "/cgroup.procs && exec unshare --pid --mount --ipc --uts --net --fork"
                                + " --kill-child /usr/bin/python3 " + script + " " + merged)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        commands = process.outputWriter(StandardCharsets.UTF_8);
        results = process.inputReader(StandardCharsets.UTF_8);
        assertThat(result()).isEqualTo("ready");
        // unshare itself stays outside of the namespaces, so it must not stay in the cgroup either
        Files.writeString(unified().resolve("cgroup.procs"), Long.toString(process.pid()));
        List<String> left = Files.readAllLines(cgroup.resolve("cgroup.procs"));
        assertThat(left).hasSize(1);
        initPid = Integer.parseInt(left.get(0));
    }

    InspectionTarget target() {
        return new InspectionTarget("test", cgroup, initPid, btrfs.upper(), Path.of("/"), btrfs.scratch());
    }

    /** As {@link #target}, whose files can only be walked. */
    InspectionTarget walkedTarget() {
        return new InspectionTarget("test", cgroup, initPid, btrfs.upper(), Path.of("/"), null);
    }

    Path cgroup() {
        return cgroup;
    }

    /** Runs a line of bash to its end; it must succeed. */
    String run(String bash) {
        try {
            commands.write(JSON.writeValueAsString(bash));
            commands.newLine();
            commands.flush();
            return result();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Holds the sandbox still while the action runs. */
    void frozen(Runnable action) {
        freeze("1");
        try {
            action.run();
        } finally {
            freeze("0");
        }
    }

    /**
     * Waits until no survivor has run for 10 ms, at most a second: some never rest. A survivor that a busy machine has not yet let reach
     * its sleep would else run in the turn after the baseline.
     */
    void awaitRest() {
        long deadline = System.nanoTime() + 1_000_000_000L;
        Map<String, String> before = Map.of();
        while (System.nanoTime() < deadline) {
            Map<String, String> now = runs();
            if (now.equals(before)) {
                return;
            }
            before = now;
            LockSupport.parkNanos(10_000_000);
        }
    }

    /** By thread: whether it is on a processor's queue, and how often it has left one. */
    private Map<String, String> runs() {
        Map<String, String> runs = new HashMap<>();
        try {
            for (String thread : Files.readAllLines(cgroup.resolve("cgroup.threads"))) {
                Path status = Path.of("/proc", thread, "status");
                if (!thread.equals(Integer.toString(initPid)) && Files.exists(status)) {
                    String lines = Files.readAllLines(status).stream()
                            .filter(line -> line.startsWith("State:") || line.contains("_ctxt_switches:"))
                            .collect(Collectors.joining());
                    // One that is on a queue equals no earlier look, nor any later one.
                    runs.put(thread, lines.contains("R (running)") ? lines + System.nanoTime() : lines);
                }
            }
        } catch (IOException e) {
            runs.put("gone meanwhile", Long.toString(System.nanoTime()));
        }
        return runs;
    }

    /** Ends every process but pid 1. */
    void clear() {
        try {
            for (String pid : Files.readAllLines(cgroup.resolve("cgroup.procs"))) {
                if (Integer.parseInt(pid) != initPid) {
                    ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        await().pollInterval(2, TimeUnit.MILLISECONDS).until(() -> processes() == 1);
        run("true"); // pid 1 reaps what was orphaned
    }

    @Override
    public void close() throws IOException {
        try {
            commands.close();
            process.destroyForcibly().waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        await().pollInterval(5, TimeUnit.MILLISECONDS).until(() -> processes() == 0);
        Files.delete(cgroup);
        SmallDisk.unmount(merged);
        btrfs.close();
        run("rm", "-rf", "--one-file-system", directory.toString());
    }

    private int processes() throws IOException {
        return Files.readAllLines(cgroup.resolve("cgroup.procs")).size();
    }

    private void freeze(String value) {
        try {
            Files.writeString(cgroup.resolve("cgroup.freeze"), value);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        await().pollInterval(1, TimeUnit.MILLISECONDS)
                .until(() -> Files.readAllLines(cgroup.resolve("cgroup.events")).contains("frozen " + value));
    }

    private String result() throws IOException {
        String line = results.readLine();
        assertThat(line).as("the sandbox's pid 1 has died").isNotNull();
        JsonNode result = JSON.readTree(line);
        assertThat(result.get("status").asInt())
                .as(result.get("output").asText())
                .isZero();
        return result.get("output").asText().strip();
    }

    private static Path unified() throws IOException {
        return Files.readAllLines(Path.of("/proc/mounts")).stream()
                .map(line -> line.split(" ", -1))
                .filter(fields -> fields[2].equals("cgroup2"))
                .map(fields -> Path.of(fields[1]))
                .findFirst()
                .orElseThrow();
    }

    static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            assertThat(process.waitFor())
                    .as(String.join(" ", command) + ": " + output)
                    .isZero();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
