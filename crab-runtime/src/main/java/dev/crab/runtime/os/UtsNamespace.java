package dev.crab.runtime.os;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** The host name that a process sees. */
public final class UtsNamespace {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private UtsNamespace() {}

    /**
     * Sets the host name in a process's UTS namespace.
     *
     * @param pid host pid
     * @param name 1 to 63 characters of {@code [a-z0-9-]}
     */
    public static void setHostName(int pid, String name) throws IOException {
        // The file is that of whoever writes to it, wherever it was found.
        ChildProcess child = ChildProcess.spawn(
                List.of(
                        "/usr/bin/nsenter",
                        "--uts=/proc/" + pid + "/ns/uts",
                        "/bin/sh",
                        "-c",
                        "printf %s \"$0\" > /proc/sys/kernel/hostname",
                        name),
                List.of("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"),
                Map.of());
        OptionalInt status = child.waitFor(PATIENCE);
        if (status.isEmpty()) {
            child.kill();
            child.waitFor(PATIENCE);
        }
        if (status.orElse(-1) != 0) {
            throw new IOException("the host name of process " + pid + " cannot be set to " + name);
        }
    }
}
