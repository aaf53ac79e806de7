package dev.crab.samples.replay;

import dev.crab.runtime.os.Cgroup;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What a JVM, a sandbox and all of the machine have used so far.
 *
 * @param jvmCpu nanoseconds of processor time of the JVM and of the programs that it started and that have ended
 * @param sandboxCpu nanoseconds of processor time of the sandbox
 * @param jvmPeak the most memory that the JVM had resident at once, in bytes
 * @param sandboxPeak the most memory that the sandbox had at once, in bytes, its page cache included
 * @param machineBusy clock ticks of all processors in which they worked, for whomever
 * @param machineAll clock ticks of all processors
 */
record Usage(long jvmCpu, long sandboxCpu, long jvmPeak, long sandboxPeak, long machineBusy, long machineAll) {
    static final Usage NONE = new Usage(0, 0, 0, 0, 0, 0);

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
            long[] machine = machine(Files.readAllLines(Path.of("/proc/stat")).get(0));
            return new Usage(
                    ticks * TICK,
                    1000 * field(cgroup.unified().resolve("cpu.stat"), "usage_usec "),
                    1024 * field(proc.resolve("status"), "VmHWM:"),
                    peak(cgroup),
                    machine[0],
                    machine[1]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What they have worked, and all that they had, from the first line of {@code /proc/stat} (proc(5)). */
    static long[] machine(String line) {
        String[] fields = line.trim()
                .split(" +", -1); // cpu user nice system idle iowait irq softirq steal ...; guests are in user
        long all = 0;
        for (int i = 1; i <= 8; i++) {
            all += Long.parseLong(fields[i]);
        }
        return new long[] {all - Long.parseLong(fields[4]) - Long.parseLong(fields[5]), all};
    }

    /** The share of all processors' time that was worked since, by whomever; 0 if no tick has passed. */
    double machineShareSince(Usage before) {
        return (double) (machineBusy - before.machineBusy) / Math.max(1, machineAll - before.machineAll);
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
