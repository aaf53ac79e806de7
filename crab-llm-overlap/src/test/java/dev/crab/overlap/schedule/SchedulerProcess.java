package dev.crab.overlap.schedule;

import dev.crab.runtime.Settings;
import dev.crab.runtime.inspector.Effect;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A scheduler in a JVM of its own. It reads lines and answers each when it is done: {@code capture}, {@code persist}, {@code release},
 * {@code place}, {@code close}; {@code cycle N} captures N times in a row and says when each capture began and ended, in nanoseconds of the
 * host's monotonic clock.
 */
final class SchedulerProcess implements AutoCloseable {
    private final Process process;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    private SchedulerProcess(Process process) {
        this.process = process;
        Thread reader = new Thread(this::read, "lines of " + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    static SchedulerProcess start(Path directory, String... settings) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                "-D" + SchedulerSettings.DIRECTORY + "=" + directory));
        command.addAll(List.of(settings));
        command.add(SchedulerProcess.class.getName());
        SchedulerProcess started = new SchedulerProcess(new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
        started.expect("open");
        return started;
    }

    private void read() {
        try (BufferedReader reader =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                lines.add(line);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    long pid() {
        return process.pid();
    }

    void send(String line) throws IOException {
        process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().flush();
    }

    /** The next line; fails after a minute. */
    String next() {
        try {
            String line = lines.poll(1, TimeUnit.MINUTES);
            if (line == null) {
                throw new AssertionError("process " + pid() + " says nothing");
            }
            return line;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    boolean hasNext() {
        return !lines.isEmpty();
    }

    void expect(String line) {
        String said = next();
        if (!said.equals(line)) {
            throw new AssertionError("process " + pid() + " says \"" + said + "\", not \"" + line + "\"");
        }
    }

    /** Sends a line and waits for its answer. */
    String ask(String line) throws IOException {
        send(line);
        return next();
    }

    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    void signal(String name) throws IOException, InterruptedException {
        int code = new ProcessBuilder("kill", "-" + name, Long.toString(pid()))
                .start()
                .waitFor();
        if (code != 0) {
            throw new AssertionError("kill -" + name + " fails");
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        CaptureScheduler scheduler = CaptureScheduler.open(SchedulerSettings.read(
                Settings.of(java.util.Map.of()), Runtime.getRuntime().availableProcessors()));
        System.out.println("open");
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ScheduledTurn turn = scheduler.turn("one", 0, false);
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            String[] words = line.split(" ", -1);
            switch (words[0]) {
                case "capture" -> {
                    turn.awaitCapture(Effect.FULL);
                    System.out.println("captured");
                }
                case "persist" -> {
                    turn.awaitPersist(0);
                    System.out.println("persisted");
                }
                case "release" -> {
                    turn.release(1000);
                    turn = scheduler.turn("one", 0, false);
                    System.out.println("released");
                }
                case "place" -> System.out.println(scheduler.place().split(" ", -1)[0]);
                case "cycle" -> cycle(scheduler, Integer.parseInt(words[1]));
                case "close" -> {
                    scheduler.close();
                    System.out.println("closed");
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
    }

    private static void cycle(CaptureScheduler scheduler, int times) throws InterruptedException {
        for (int i = 0; i < times; i++) {
            ScheduledTurn turn = scheduler.turn("cycle", i, i % 2 == 0);
            turn.awaitCapture(Effect.FILES);
            long begin = System.nanoTime();
            Thread.sleep(1);
            long end = System.nanoTime();
            turn.awaitPersist(0);
            turn.release(10);
            System.out.println(begin + " " + end);
        }
        System.out.println("done");
    }
}
