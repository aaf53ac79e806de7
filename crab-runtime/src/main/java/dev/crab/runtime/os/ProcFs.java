package dev.crab.runtime.os;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/** What {@code /proc} tells of processes. Formats: proc(5). */
public final class ProcFs {
    private ProcFs() {}

    /**
     * One process. All ids but {@code innerPid} are the host's.
     *
     * @param innerPid its pid in its own, innermost namespace
     * @param comm the program's name, at most 15 characters
     * @param state one letter: R, S, D, T, t, Z, X, I
     */
    public record ProcessInfo(
            int pid, int parent, int group, int session, int innerPid, int threads, String comm, char state) {}

    /** The process of that host pid, or nothing if it is gone. */
    public static Optional<ProcessInfo> find(int pid) {
        try {
            Path directory = Path.of("/proc/" + pid);
            String stat = Files.readString(directory.resolve("stat"), StandardCharsets.ISO_8859_1);
            int open = stat.indexOf('(');
            int close = stat.lastIndexOf(')');
            String[] fields = stat.substring(close + 2).split(" ", -1);
            return Optional.of(new ProcessInfo(
                    pid,
                    Integer.parseInt(fields[1]),
                    Integer.parseInt(fields[2]),
                    Integer.parseInt(fields[3]),
                    innerPid(pid),
                    Integer.parseInt(fields[17]),
                    stat.substring(open + 1, close),
                    fields[0].charAt(0)));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /**
     * When that process started, in clock ticks since boot; nothing if it is gone. With the pid it names a process for as long as the
     * machine runs, whatever becomes of the clock on the wall.
     */
    public static OptionalLong started(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"), StandardCharsets.ISO_8859_1);
            // The name in parentheses may hold anything; the fields behind the last one are plain.
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            return OptionalLong.of(Long.parseLong(fields[19]));
        } catch (IOException e) {
            return OptionalLong.empty();
        }
    }

    /** Descriptors of a process and what each leads to, as the kernel writes it ({@code pipe:[123]}, {@code /tmp/x (deleted)}). */
    public static Map<Integer, String> descriptors(int pid) {
        Map<Integer, String> links = new TreeMap<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
            for (Path entry : entries) {
                try {
                    links.put(
                            Integer.valueOf(entry.getFileName().toString()),
                            Files.readSymbolicLink(entry).toString());
                } catch (IOException e) {
                    // closed since the directory was read
                }
            }
        } catch (IOException e) {
            return links; // the process is gone, and so are its descriptors
        }
        return links;
    }

    /**
     * The fields of a process's {@code status}, trimmed. The kernel escapes newlines in the name; other bytes are kept one to one.
     *
     * @throws IOException if it is gone
     */
    public static Map<String, String> status(int pid) throws IOException {
        Map<String, String> fields = new HashMap<>();
        for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/status"), StandardCharsets.ISO_8859_1)) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 1).trim());
            }
        }
        return fields;
    }

    /** The last value of such a field that has one for each namespace: the innermost one's. */
    public static int innermost(String values) {
        return Integer.parseInt(values.substring(values.lastIndexOf('\t') + 1));
    }

    private static int innerPid(int pid) throws IOException {
        String pids = status(pid).get("NSpid");
        return pids == null ? pid : innermost(pids);
    }
}
