package dev.crab.runtime.inspector;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads which processes a sandbox has, from its cgroup and /proc. Reading does not make any of them run. */
final class Processes {
    private static final int ESRCH_RETRIES = 3;

    private Processes() {}

    /** Every process of the cgroup but the sandbox's pid 1; zombies are not listed by the kernel. */
    static Set<ProcessRef> list(Path cgroup, int initPid) throws IOException {
        Set<ProcessRef> processes = new LinkedHashSet<>();
        for (String line : Files.readAllLines(cgroup.resolve("cgroup.procs"))) {
            int pid = Integer.parseInt(line);
            if (pid != initPid) {
                ProcessRef process = read(pid);
                if (process != null) {
                    processes.add(process);
                }
            }
        }
        return processes;
    }

    /** The process of that number, or null if it is gone. */
    static @Nullable ProcessRef read(int pid) throws IOException {
        String[] stat = stat(Path.of("/proc", Integer.toString(pid), "stat"));
        if (stat.length == 0) {
            return null;
        }
        return new ProcessRef(pid, Long.parseLong(stat[20]), insidePid(pid), stat[0]);
    }

    /** When the process of that number was started, in clock ticks since boot; -1 if it is gone. */
    static long startTime(int pid) throws IOException {
        String[] stat = stat(Path.of("/proc", Integer.toString(pid), "stat"));
        return stat.length == 0 ? -1 : Long.parseLong(stat[20]);
    }

    /** Threads of a process. */
    static List<Integer> threads(int pid) throws IOException {
        try (Stream<Path> tasks = Files.list(Path.of("/proc", Integer.toString(pid), "task"))) {
            return tasks.map(path -> Integer.parseInt(path.getFileName().toString()))
                    .toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** Whether a thread is held by a tracer ({@code t} in its stat). */
    static boolean isTraced(int pid, int tid) throws IOException {
        String[] stat = stat(Path.of("/proc", Integer.toString(pid), "task", Integer.toString(tid), "stat"));
        return stat.length > 0 && stat[1].equals("t");
    }

    /** Whether the whole cgroup is frozen. */
    static boolean isFrozen(Path cgroup) throws IOException {
        return Files.readAllLines(cgroup.resolve("cgroup.events")).contains("frozen 1");
    }

    /** The inode that names a process's pid namespace. */
    static long pidNamespace(int pid) throws IOException {
        String link = Files.readSymbolicLink(Path.of("/proc", Integer.toString(pid), "ns", "pid"))
                .toString();
        return Long.parseLong(link.substring(link.indexOf('[') + 1, link.length() - 1));
    }

    /**
     * The fields of a stat file: [0] is the name, [1] the state, [20] the start time; empty if the process is gone. The name may hold
     * anything, so it is cut out by its last parenthesis (proc(5)).
     */
    private static String[] stat(Path file) throws IOException {
        String text = text(file);
        int open = text.indexOf('(');
        int close = text.lastIndexOf(')');
        if (open < 0 || close < open) {
            return new String[0];
        }
        String[] rest = text.substring(close + 2).split(" ", -1);
        String[] fields = new String[rest.length + 1];
        fields[0] = text.substring(open + 1, close);
        System.arraycopy(rest, 0, fields, 1, rest.length);
        return fields;
    }

    private static int insidePid(int pid) throws IOException {
        for (String line :
                text(Path.of("/proc", Integer.toString(pid), "status")).split("\n", -1)) {
            if (line.startsWith("NSpid:")) {
                return Integer.parseInt(line.substring(line.lastIndexOf('\t') + 1));
            }
        }
        return pid;
    }

    /** A file of /proc as text, empty if its process is gone. */
    static String text(Path file) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                return Files.readString(file, StandardCharsets.ISO_8859_1);
            } catch (NoSuchFileException e) {
                return "";
            } catch (IOException e) {
                // A process that ends while its file is read gives ESRCH, which has no exception of its own.
                if (!Files.exists(file) || String.valueOf(e.getMessage()).contains("No such process")) {
                    return "";
                }
                if (attempt == ESRCH_RETRIES) {
                    throw e;
                }
            }
        }
    }
}
