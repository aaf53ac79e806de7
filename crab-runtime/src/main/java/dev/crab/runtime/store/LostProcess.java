package dev.crab.runtime.store;

import java.util.List;
import java.util.Objects;

/**
 * A process that could not be captured, and how it could be started again: without its memory, but with what it was called.
 *
 * @param pid inside the sandbox
 * @param ppid its parent's
 * @param command program and arguments; empty where they cannot be told
 * @param environment {@code NAME=value}, as the process got it
 * @param directory its working directory, inside the sandbox
 * @param uid effective user
 * @param gid effective group
 */
public record LostProcess(
        int pid, int ppid, List<String> command, List<String> environment, String directory, int uid, int gid) {
    public LostProcess {
        Objects.requireNonNull(directory, "directory");
        command = List.copyOf(command);
        environment = List.copyOf(environment);
    }

    /** Whether nobody but the runtime could have started it: its parent is pid 1. What it has started itself it would start again. */
    public boolean startedByCommand() {
        return ppid == 1;
    }

    /** For reading, at most about a line. */
    public String describe() {
        String line = command.isEmpty() ? "(unknown)" : String.join(" ", command);
        return "process " + pid + ": " + (line.length() > 200 ? line.substring(0, 200) + "…" : line);
    }
}
