package dev.crab.runtime.os;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The host's memory, and what of it processes have. Bytes. */
public final class HostMemory {
    private HostMemory() {}

    /** What new programs could get without swapping; 0 if the kernel does not tell. */
    public static long available() {
        return field("MemAvailable:");
    }

    /** All of it; 0 if the kernel does not tell. */
    public static long total() {
        return field("MemTotal:");
    }

    private static long field(String name) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/meminfo"), StandardCharsets.US_ASCII)) {
                if (line.startsWith(name)) {
                    return kilobytes(line.substring(name.length()).trim());
                }
            }
        } catch (IOException e) {
            return 0; // no procfs: nothing can be told
        }
        return 0;
    }

    /** What the processes of a cgroup have for themselves or share among them. */
    public static long of(Path cgroup) {
        long bytes = 0;
        try {
            for (String pid : Files.readAllLines(cgroup.resolve("cgroup.procs"), StandardCharsets.US_ASCII)) {
                Map<String, String> status = ProcFs.status(Integer.parseInt(pid));
                for (String part : List.of("RssAnon", "RssShmem", "VmSwap")) {
                    bytes += kilobytes(status.getOrDefault(part, "0 kB"));
                }
            }
        } catch (IOException e) {
            return bytes; // one of them has just ended
        }
        return bytes;
    }

    private static long kilobytes(String text) {
        return 1024 * Long.parseLong(text.substring(0, text.indexOf(' ')));
    }
}
