package dev.crab.runtime.sandbox;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * A running sandbox. Thread-safe; commands may run side by side.
 *
 * <p>Every method throws {@link dev.crab.runtime.error.CrabException}: SANDBOX_LOST when its pid 1 is gone, CONTROL_SOCKET_REFUSED when
 * what listens on the control socket is not that pid 1, EXEC_FAILED when a program could not be started.
 */
public interface Sandbox {
    /** What attributes begin with that are variables of each new command's environment, unless the request has them. */
    String ENVIRONMENT = "environment/";

    /** The sandbox's name. */
    String id();

    /** Runs a command to its end. What it leaves in the background stays; what that still writes to the command's output is dropped. */
    ExecResult exec(ExecRequest request);

    /** Runs a line of bash with the request defaults in a fresh process. */
    default ExecResult exec(String bashCommand) {
        return exec(ExecRequest.of("/bin/bash", "-c", bashCommand));
    }

    /**
     * The shell session of that name, carried by value: each {@link Shell#run} is a fresh process that starts with the working directory,
     * exported variables, functions and options that the one before left.
     */
    Shell shell(String name);

    /** Opens or joins the living pseudo-terminal shell of that name, a process that stays between calls. */
    PtyShell pty(String name);

    /**
     * Reads a file without a shell; at most {@code limit} bytes.
     *
     * @throws dev.crab.runtime.error.CrabException FILE_OPERATION_FAILED with the reason (no such file, a directory, larger than the limit)
     */
    byte[] readFile(String path, int limit);

    /** Writes a file without a shell: temporary file in the same directory, then rename; parent directories are made; mode 0644 if new. */
    void writeFile(String path, byte[] content);

    /** As {@link #writeFile(String, byte[])}, with text in UTF-8. */
    default void writeFile(String path, String text) {
        writeFile(path, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Lists a directory without a shell, sorted by name. */
    List<FileEntry> listFiles(String path);

    /**
     * State of the sandbox that is carried by value beside its files and processes (what the shell sessions hand from call to call). Live
     * and thread-safe: entries put here are part of the next commit and come back with it.
     */
    Map<String, String> attributes();

    /** A shell session carried by value. Not thread-safe: its calls come one after the other. */
    interface Shell {
        /** Runs a line of bash with the request defaults. */
        ExecResult run(String bashCommand);

        /** Runs a line of bash; the template gives input, time-out and output limit, its command is ignored. */
        ExecResult run(String bashCommand, ExecRequest template);

        /** The working directory that the next call starts in. */
        String workingDirectory();
    }

    /** A shell on a pseudo-terminal that lives in the sandbox between calls and is checkpointed with it. */
    interface PtyShell extends AutoCloseable {
        /** Types the text (end it with a newline to run a command). */
        void type(String text);

        /** What the terminal has shown since the last call, waiting until {@code quiet} passes without output or {@code limit} is over. */
        String read(java.time.Duration quiet, java.time.Duration limit);

        /** Leaves the terminal; the shell lives on. */
        @Override
        void close();
    }
}
