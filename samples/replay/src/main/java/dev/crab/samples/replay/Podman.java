package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.os.Mounts;
import dev.crab.runtime.os.NetNamespace;
import dev.crab.runtime.os.TreeRemoval;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The podman of the host, with a storage, a state and a configuration of its own below the data directory, so that it meets no container
 * of the host's. CRIU is Crab's; the OCI runtime is runc. Thread-safe.
 */
final class Podman {
    static final String PROGRAM = "podman";

    /** Lives as long as the container, alone, and reaps what is orphaned: it reads a pipe that only it can write to. */
    private static final List<String> PID_1 = List.of("/bin/bash", "-c", "exec 3<> <(:); while :; do read -ru 3; done");

    /**
     * Locks are files, since podman's are shared by all of its users on a host otherwise. Limits of processes are below those of the host:
     * podman asks for higher ones, which takes CAP_SYS_RESOURCE.
     */
    private static final String CONFIGURATION = """
            [containers]
            default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
            log_driver = "none"
            [engine]
            cgroup_manager = "cgroupfs"
            events_logger = "none"
            lock_type = "file"
            runtime = "runc"
            tmp_dir = "%s"
            """;

    private final Path home;

    /** That of a data directory. */
    Podman(Path data) {
        home = data.resolve("podman");
    }

    /** Whether a program of that name is in that PATH. */
    static boolean isIn(String path) {
        return Stream.of(path.split(":", -1)).anyMatch(directory -> Files.isExecutable(Path.of(directory, PROGRAM)));
    }

    /** Makes what it needs to run. */
    Podman prepare() throws IOException {
        for (String directory : List.of("bin", "net", "archives", "said")) {
            Files.createDirectories(home.resolve(directory));
        }
        Files.writeString(home.resolve("containers.conf"), CONFIGURATION.formatted(home.resolve("tmp")));
        Path criu = home.resolve("bin/criu");
        if (!Files.exists(criu)) {
            Path made = Files.createTempDirectory(home, "criu").resolve("criu");
            Files.createSymbolicLink(made, CrabRuntime.criu(CrabConfig.resolve()));
            Files.move(made, criu, StandardCopyOption.ATOMIC_MOVE);
            Files.delete(made.getParent());
        }
        return this;
    }

    /** Where a container's checkpoint of that id is kept. */
    Path archive(String id) {
        return home.resolve("archives").resolve(id + ".tar.zst");
    }

    /** A new file for what a program says. It goes with all the rest if nobody lives to delete it. */
    Path said() throws IOException {
        return Files.createTempFile(home.resolve("said"), "", "");
    }

    private Path network(String container) {
        return home.resolve("net").resolve(container);
    }

    List<String> command(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(
                PROGRAM,
                "--root",
                home.resolve("root").toString(),
                "--runroot",
                home.resolve("run").toString(),
                "--storage-driver",
                "overlay"));
        command.addAll(arguments);
        return command;
    }

    ProcessBuilder process(List<String> arguments) {
        ProcessBuilder builder = new ProcessBuilder(command(arguments));
        builder.environment()
                .put("CONTAINERS_CONF", home.resolve("containers.conf").toString());
        builder.environment().merge("PATH", home.resolve("bin").toString(), (path, criu) -> criu + ":" + path);
        return builder;
    }

    /** Runs a command to its end; answers with what it printed. */
    String run(String... arguments) throws IOException {
        return run(List.of(arguments));
    }

    private String run(List<String> arguments) throws IOException {
        Path said = said();
        try {
            Process process = process(arguments).redirectError(said.toFile()).start();
            process.getOutputStream().close();
            String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            int status = await(process);
            if (status != 0) {
                throw new IOException("podman " + arguments.get(0) + " ended with " + status + ": "
                        + Files.readString(said).strip());
            }
            return out;
        } finally {
            Files.deleteIfExists(said);
        }
    }

    /** Waits for its end, and ends it if this thread is interrupted. */
    static int await(Process process) throws IOException {
        try {
            return process.waitFor();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    boolean hasImage(String name) throws IOException {
        return run("images", "--format", "{{.Repository}}").lines().anyMatch(line -> line.equals("localhost/" + name));
    }

    /** Makes an image of a root file system. */
    void makeImage(String name, Path root) throws IOException {
        Path said = said();
        try {
            List<Process> both = ProcessBuilder.startPipeline(List.of(
                    new ProcessBuilder("tar", "-C", root.toString(), "--numeric-owner", "--xattrs", "-c", ".")
                            .redirectError(ProcessBuilder.Redirect.appendTo(said.toFile())),
                    process(List.of("import", "--quiet", "-", name))
                            .redirectError(ProcessBuilder.Redirect.appendTo(said.toFile()))
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)));
            for (Process process : both) {
                int status = await(process);
                if (status != 0) {
                    throw new IOException("no image could be made of " + root + ": "
                            + Files.readString(said).strip());
                }
            }
        } finally {
            Files.deleteIfExists(said);
        }
    }

    /** Starts a container of that image in the network namespace and the control group that belong to its name. */
    void start(String container, String image) throws IOException {
        NetNamespace.create(network(container));
        run(starting(container, image));
    }

    List<String> starting(String container, String image) {
        List<String> arguments = new ArrayList<>(List.of(
                "run",
                "--detach",
                "--name",
                container,
                "--pull",
                "never",
                "--network",
                "ns:" + network(container),
                "--no-hosts",
                "--cgroup-parent",
                Cgroups.ociPath(container),
                image));
        arguments.addAll(PID_1);
        return arguments;
    }

    void commit(String container, String image) throws IOException {
        run("commit", "--quiet", container, image);
    }

    /** Durations in nanoseconds: of the whole command, of what runs before the files are packed, and of the time in which nothing ran. */
    record Checkpointed(long all, long runtime, long frozen) {
        /** From what {@code podman container checkpoint --print-stats} prints, in microseconds. */
        static Checkpointed of(String printed, long wall) throws IOException {
            JsonNode root = Json.read(printed);
            JsonNode container = root.path("container_statistics").path(0);
            long packing = root.path("podman_checkpoint_duration").asLong()
                    - container.path("runtime_checkpoint_duration").asLong();
            return new Checkpointed(
                    wall,
                    Math.max(0, wall - 1000 * packing),
                    1000 * container.path("criu_statistics").path("frozen_time").asLong());
        }
    }

    /** Writes a running container's processes and files to the file; it runs on. */
    Checkpointed checkpoint(String container, Path file) throws IOException {
        long begin = System.nanoTime();
        String printed = run(checkpointing(container, file));
        return Checkpointed.of(printed, System.nanoTime() - begin);
    }

    static List<String> checkpointing(String container, Path file) {
        return List.of(
                "container",
                "checkpoint",
                "--leave-running",
                "--tcp-established",
                "--file-locks",
                "--print-stats",
                "--export",
                file.toString(),
                container);
    }

    /** Brings a container back, under the name that it had. */
    void restore(String container, Path file) throws IOException {
        NetNamespace.create(network(container));
        run("container", "restore", "--tcp-established", "--file-locks", "--import", file.toString());
    }

    /** Removes a container with what was around it; nothing there is success. */
    void remove(String container) throws IOException {
        run("rm", "--force", "--ignore", "--time", "0", container);
        NetNamespace.delete(network(container));
        PodmanGroup.remove(container);
    }

    /** Names of all containers that there are, running or not. */
    private List<String> containers() throws IOException {
        return run("ps", "--all", "--format", "{{.Names}}").lines().toList();
    }

    /** Removes all of it: containers, images, archives. */
    void removeAll() throws IOException {
        if (!Files.exists(home)) {
            return;
        }
        if (Files.exists(home.resolve("containers.conf"))) {
            for (String container : containers()) {
                remove(container);
            }
        }
        for (Mounts.Mount mount : Mounts.list()) {
            if (mount.point().startsWith(home)) {
                Mounts.unmount(mount.point());
            }
        }
        // Programs of an invocation that was killed may still be ending, and remove files of theirs meanwhile.
        List<Path> inside;
        try (Stream<Path> all = Files.list(home)) {
            inside = all.toList();
        }
        for (Path one : inside) {
            TreeRemoval.remove(home, one.getFileName().toString());
        }
        Files.delete(home);
    }

    /** Removes the archives of an agent but for that one; null for none. */
    void keepOnly(String agent, @Nullable Path archive) throws IOException {
        try (Stream<Path> archives = Files.list(home.resolve("archives"))) {
            for (Path file : archives.toList()) {
                if (file.getFileName().toString().startsWith(agent + ".") && !file.equals(archive)) {
                    Files.delete(file);
                }
            }
        }
    }
}
