package dev.crab.samples.quickstart;

import dev.crab.samples.common.Events;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The agent's JVM, started and, where a fault point is armed, ended by SIGKILL as soon as the JVM says that it has reached the point.
 */
final class AgentProcess {
    /** How a JVM ended. */
    sealed interface Ending {
        /** It did its work. */
        record Finished() implements Ending {}

        /** The driver killed it at this point. */
        record Killed(String point) implements Ending {}

        /** It ended by itself with this status and without its work done. */
        record Failed(int status) implements Ending {}
    }

    private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

    private static volatile boolean stopped;

    private static final String FAULT = "crab-fault ";

    private AgentProcess() {}

    /**
     * Runs an agent's JVM to its end.
     *
     * @param command the command that starts it
     * @param log file that gets what the JVM writes besides events
     * @param listener is told each event as it comes
     */
    static Ending run(List<String> command, Path log, Consumer<Events.Event> listener) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .start();
            RUNNING.add(process);
            if (stopped) {
                process.toHandle().destroyForcibly();
            }
            return follow(process, log, listener);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Ending follow(Process process, Path log, Consumer<Events.Event> listener) throws IOException {
        List<String> killedAt = new ArrayList<>();
        boolean[] finished = {false};
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (line.startsWith(FAULT)) {
                    process.toHandle()
                            .destroyForcibly(); // SIGKILL; Process.destroyForcibly would close the stream, too
                    killedAt.add(line.substring(FAULT.length()));
                } else if (!Events.parse(line, event -> {
                    finished[0] |= event.kind().equals("finished");
                    listener.accept(event);
                })) {
                    Files.writeString(log, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                }
            }
            int status = process.waitFor();
            if (!killedAt.isEmpty()) {
                return new Ending.Killed(killedAt.get(0));
            }
            return status == 0 && finished[0] ? new Ending.Finished() : new Ending.Failed(status);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the agent ran", e);
        } finally {
            process.destroyForcibly();
            RUNNING.remove(process);
        }
    }

    /** Kills the agents that run, waits until they are gone, and lets no other start. For a driver that is interrupted. */
    static void stopAll() {
        stopped = true;
        for (Process process : RUNNING) {
            process.toHandle().destroyForcibly();
            process.onExit().join();
        }
    }
}
