package dev.crab.samples.replay;

import dev.crab.samples.common.Events;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** A JVM of agents that runs: told to do something, listened to, killed. Thread-safe. */
final class LiveJvm implements AutoCloseable {
    private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

    private static volatile boolean stopped;

    private final Process process;
    private final Thread reader;

    /**
     * Starts it.
     *
     * @param log gets what it writes besides events
     * @param listener is told each event, on a thread of its own
     * @param ended is told the exit status, behind the last event
     */
    LiveJvm(List<String> command, Path log, Consumer<Events.Event> listener, Consumer<Integer> ended)
            throws IOException {
        process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
        RUNNING.add(process);
        if (stopped) {
            process.toHandle().destroyForcibly();
        }
        reader = new Thread(() -> read(log, listener, ended), "jvm-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    private void read(Path log, Consumer<Events.Event> listener, Consumer<Integer> ended) {
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (!Events.parse(line, listener)) {
                    Files.writeString(log, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                }
            }
            ended.accept(process.waitFor());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            RUNNING.remove(process);
        }
    }

    /** Kills all that run, waits until they are gone, and lets no other start. For a driver that is interrupted. */
    static void stopAll() {
        stopped = true;
        for (Process process : RUNNING) {
            process.toHandle().destroyForcibly();
            process.onExit().join();
        }
    }

    long pid() {
        return process.pid();
    }

    void tell(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    /** SIGKILL, and waits until it is gone. */
    void kill() throws InterruptedException {
        process.toHandle().destroyForcibly();
        process.waitFor();
        reader.join();
    }

    void awaitEnd() throws InterruptedException {
        process.waitFor();
        reader.join();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
