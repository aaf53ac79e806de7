package dev.crab.runtime.os;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** One control group: the same name in every hierarchy that it has to be in. Thread-safe as far as the kernel is. */
public final class Cgroup {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final List<Path> joined;
    private final List<Path> all;

    Cgroup(List<Path> joined, List<Path> all) {
        this.joined = List.copyOf(joined);
        this.all = List.copyOf(all);
    }

    /** Its directory in the v2 hierarchy. */
    public Path unified() {
        return joined.get(0);
    }

    /** Every directory whose {@code cgroup.procs} a process must be written to, the v2 one first. */
    public List<Path> directories() {
        return joined;
    }

    public boolean exists() {
        return all.stream().anyMatch(Files::exists);
    }

    /** Moves a process (all its threads) into the group. */
    public void add(int pid) throws IOException {
        for (Path directory : joined) {
            Files.writeString(directory.resolve("cgroup.procs"), Integer.toString(pid));
        }
    }

    /** Host pids of the processes in the group. */
    public List<Integer> processes() throws IOException {
        try {
            return Files.readAllLines(unified().resolve("cgroup.procs")).stream()
                    .map(Integer::valueOf)
                    .toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** Stops every task of the group and returns once all stand still. */
    public void freeze() throws IOException {
        Files.writeString(unified().resolve("cgroup.freeze"), "1");
        await("freeze " + unified(), () -> event("frozen 1"));
    }

    /** Lets the group run on. */
    public void thaw() throws IOException {
        Files.writeString(unified().resolve("cgroup.freeze"), "0");
        await("thaw " + unified(), () -> event("frozen 0"));
    }

    /** Kills every process of the group, frozen or not, and returns once none is left. Idempotent. */
    public void killAll() throws IOException {
        for (Path directory : all) {
            if (Files.exists(directory)) {
                killAll(directory);
            }
        }
    }

    private static void killAll(Path directory) throws IOException {
        Path kill = directory.resolve("cgroup.kill");
        List<Integer> first = members(directory);
        if (Files.exists(kill) && !first.isEmpty()) {
            Files.writeString(kill, "1");
        }
        Set<Integer> killed = new HashSet<>(first);
        await("end the processes of " + directory, () -> {
            List<Integer> left = members(directory);
            killed.addAll(left);
            left.forEach(Processes::kill);
            left.forEach(Processes::reap);
            return left.isEmpty();
        });
        killed.forEach(Processes::reapKilled);
    }

    private static List<Integer> members(Path directory) {
        try {
            return Files.readAllLines(directory.resolve("cgroup.procs")).stream()
                    .map(Integer::valueOf)
                    .toList();
        } catch (IOException e) {
            return List.of(); // the group is gone
        }
    }

    /** Removes the group from every hierarchy; its processes must be gone. Idempotent. */
    public void remove() throws IOException {
        for (Path directory : all) {
            await("remove " + directory, () -> {
                try {
                    Files.deleteIfExists(directory);
                    return true;
                } catch (FileSystemException e) {
                    return false; // busy: the kernel has not let go of the last process yet
                } catch (IOException e) {
                    return !Files.exists(directory);
                }
            });
        }
    }

    private boolean event(String wanted) {
        try {
            return Files.readAllLines(unified().resolve("cgroup.events")).contains(wanted);
        } catch (IOException e) {
            return false;
        }
    }

    private static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        long pause = 20_000; // most is done in a moment
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw CrabException.of(
                        ErrorCode.IO_FAILED,
                        "could not " + what,
                        "the kernel did not do it within " + PATIENCE.toSeconds() + " s",
                        "look for a process there in uninterruptible sleep (state D)");
            }
            LockSupport.parkNanos(pause);
            pause = Math.min(2 * pause, 200_000);
        }
    }
}
