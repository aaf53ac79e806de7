package dev.crab.samples.leaks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Things of others, whose names are those of a sandbox with a letter more or less: whoever sweeps by half a name takes them along. */
final class Foreign implements AutoCloseable {
    private interface Step {
        void run() throws IOException;
    }

    private final Deque<Step> undo = new ArrayDeque<>();
    private final Path cgroup;
    private final Path mount;
    private final String namespace;
    private final String segment;
    private final Process process;

    /**
     * Makes them.
     *
     * @param sandbox name of the sandbox that theirs are like
     * @param run where the run-time files of such sandboxes are
     */
    Foreign(String sandbox, Path run) throws IOException {
        boolean made = false;
        try {
            cgroup = Files.createDirectories(unified().resolve("crab").resolve(sandbox + "x"));
            undo.push(() -> Files.delete(cgroup));
            process = new ProcessBuilder("sleep", "infinity").start();
            undo.push(() -> process.destroyForcibly().onExit().join());
            Files.writeString(cgroup.resolve("cgroup.procs"), Long.toString(process.pid()));
            mount = Files.createDirectories(run.resolve(sandbox + "x"));
            undo.push(() -> Files.delete(mount));
            run("mount", "-t", "tmpfs", "-o", "size=64k", "crab-foreign", mount.toString());
            undo.push(() -> run("umount", mount.toString()));
            namespace = sandbox + "x";
            run("ip", "netns", "add", namespace);
            undo.push(() -> run("ip", "netns", "delete", namespace));
            segment = run("ipcmk", "-M", "4096").replaceAll("[^0-9]", "");
            undo.push(() -> run("ipcrm", "-m", segment));
            made = true;
        } finally {
            if (!made) {
                close();
            }
        }
    }

    /** What of it is gone. */
    List<String> missing() throws IOException {
        List<String> missing = new ArrayList<>();
        if (!Census.read(cgroup.resolve("cgroup.procs")).contains(process.pid() + "\n") || !process.isAlive()) {
            missing.add("the process in cgroup " + cgroup);
        }
        String mounts = Census.read(Path.of("/proc/self/mountinfo"));
        if (!mounts.contains(" " + mount + " ")) {
            missing.add("the mount " + mount);
        }
        if (!mounts.contains("/netns/" + namespace + " ")) {
            missing.add("the network namespace " + namespace);
        }
        if (Census.read(Path.of("/proc/sysvipc/shm"))
                .lines()
                .noneMatch(line -> line.strip().split(" +", 3)[1].equals(segment))) {
            missing.add("the shared memory segment " + segment);
        }
        return missing;
    }

    static Path unified() throws IOException {
        return Census.read(Path.of("/proc/self/mountinfo"))
                .lines()
                .filter(line -> line.contains(" - cgroup2 "))
                .map(line -> Path.of(line.split(" ", -1)[4]))
                .findFirst()
                .orElseThrow(() -> new IOException("no cgroup v2 hierarchy is mounted"));
    }

    /** Runs a program to its end; gives what it wrote. */
    static String run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int status = process.onExit().join().exitValue();
        if (status != 0) {
            throw new IOException(String.join(" ", command) + " ended with " + status + ": " + output);
        }
        return output;
    }

    @Override
    public void close() throws IOException {
        for (Step step : undo) {
            step.run();
        }
        undo.clear();
    }
}
