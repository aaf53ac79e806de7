package dev.crab.samples.replay;

import dev.crab.runtime.os.Cgroup;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What a JVM and a sandbox have used so far.
 *
 * @param jvmCpu nanoseconds of processor time of the JVM and of the programs that it started and that have ended
 * @param sandboxCpu nanoseconds of processor time of the sandbox
 * @param jvmPeak the most memory that the JVM had resident at once, in bytes
 * @param sandboxPeak the most memory that the sandbox had at once, in bytes, its page cache included
 */
record Usage(long jvmCpu, long sandboxCpu, long jvmPeak, long sandboxPeak) {
    /** The kernel's clock tick in {@code /proc}: USER_HZ, 100 on every x86-64. */
    private static final long TICK = 10_000_000;

    static Usage of(long jvm, Cgroup cgroup) {
        try {
            Path proc = Path.of("/proc/" + jvm);
            String stat = Files.readString(proc.resolve("stat"), StandardCharsets.ISO_8859_1);
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            long ticks = 0;
            for (int i = 11; i <= 14; i++) { // utime, stime, cutime, cstime
                ticks += Long.parseLong(fields[i]);
            }
            return new Usage(
                    ticks * TICK,
                    1000 * field(cgroup.unified().resolve("cpu.stat"), "usage_usec "),
                    1024 * field(proc.resolve("status"), "VmHWM:"),
                    peak(cgroup));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Hosts with both hierarchies have it in the old one. */
    private static long peak(Cgroup cgroup) throws IOException {
        for (Path directory : cgroup.directories()) {
            for (String name : List.of("memory.peak", "memory.max_usage_in_bytes")) {
                Path file = directory.resolve(name);
                if (Files.exists(file)) {
                    return Long.parseLong(Files.readString(file).strip());
                }
            }
        }
        return 0; // before Linux 5.19
    }

    private static long field(Path file, String name) throws IOException {
        return Files.readAllLines(file).stream()
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(name.length()).strip().split(" ", -1)[0])
                .mapToLong(Long::parseLong)
                .findFirst()
                .orElse(0);
    }
}
