package dev.crab.runtime.sandbox;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A command to run in a sandbox. Immutable.
 *
 * @param command program and arguments; the program is looked up in the request's PATH
 * @param workingDirectory absolute path inside the sandbox
 * @param environment the complete environment of the command
 * @param input what the command reads from standard input; empty means end of file at once
 * @param timeout how long the command may take before its process group is killed; null means no limit
 * @param outputLimit bytes kept of each of standard output and standard error; what comes after is read and dropped
 */
@SuppressWarnings("ArrayRecordComponent") // bytes of a stream; nobody compares requests
public record ExecRequest(
        List<String> command,
        String workingDirectory,
        Map<String, String> environment,
        byte[] input,
        @Nullable Duration timeout,
        int outputLimit) {
    /** Default for {@link #outputLimit}: 1 MiB. */
    public static final int DEFAULT_OUTPUT_LIMIT = 1 << 20;

    /** Default for {@link #timeout}: two minutes. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(2);

    /** The environment that a request starts with. */
    public static final Map<String, String> DEFAULT_ENVIRONMENT = Map.of(
            "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME", "/root",
            "LANG", "C.UTF-8",
            "TERM", "dumb");

    public ExecRequest {
        command = List.copyOf(command);
        environment = Map.copyOf(environment);
        Objects.requireNonNull(input);
        if (command.isEmpty()) {
            throw new IllegalArgumentException("a command needs at least a program");
        }
    }

    /** A command with the defaults: working directory {@code /root}, no input, two minutes, 1 MiB of output. */
    public static ExecRequest of(String... command) {
        return new ExecRequest(
                List.of(command), "/root", DEFAULT_ENVIRONMENT, new byte[0], DEFAULT_TIMEOUT, DEFAULT_OUTPUT_LIMIT);
    }

    public ExecRequest withWorkingDirectory(String directory) {
        return new ExecRequest(command, directory, environment, input, timeout, outputLimit);
    }

    public ExecRequest withEnvironment(String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(environment);
        more.put(name, value);
        return new ExecRequest(command, workingDirectory, more, input, timeout, outputLimit);
    }

    public ExecRequest withInput(byte[] bytes) {
        return new ExecRequest(command, workingDirectory, environment, bytes.clone(), timeout, outputLimit);
    }

    public ExecRequest withTimeout(@Nullable Duration limit) {
        return new ExecRequest(command, workingDirectory, environment, input, limit, outputLimit);
    }

    public ExecRequest withOutputLimit(int bytes) {
        return new ExecRequest(command, workingDirectory, environment, input, timeout, bytes);
    }
}
