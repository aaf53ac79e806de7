package dev.crab.samples.leaks;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A {@link Worker} in a JVM of its own. Not thread-safe. */
final class Jvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader out;
    private final BufferedWriter in;

    private Jvm(Process process) {
        this.process = process;
        this.out = process.inputReader(StandardCharsets.UTF_8);
        this.in = process.outputWriter(StandardCharsets.UTF_8);
    }

    /**
     * Starts one.
     *
     * @param fault the fault point at which it stops and waits for its end; null for none
     */
    static Jvm start(
            Path data,
            Path image,
            Path temporary,
            Path log,
            String mark,
            long seed,
            @Nullable String fault,
            Census census) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "-Xmx512m",
                "-Djava.io.tmpdir=" + temporary));
        if (fault != null) {
            command.add("-Dcrab.fault=" + fault);
        }
        String criu = System.getProperty("crab.criu");
        if (criu != null) {
            command.add("-Dcrab.criu=" + criu);
        }
        command.addAll(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                Worker.class.getName(),
                data.toString(),
                image.toString(),
                Long.toString(seed)));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
        builder.environment().put(Census.MARK, mark);
        builder.environment().put("TMPDIR", temporary.toString());
        builder.environment().put("XDG_CACHE_HOME", temporary.toString());
        try {
            Jvm jvm = new Jvm(builder.start());
            census.worker(jvm.pid());
            if (jvm.answer("start").isEmpty()) {
                throw new IllegalStateException("a JVM stopped before it was told anything");
            }
            return jvm;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    long pid() {
        return process.pid();
    }

    /** Tells it something; gives its answer, or nothing if it has come to its fault point. */
    Optional<String> tell(String line) {
        try {
            in.write(line + "\n");
            in.flush();
            return answer(line);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** As {@link #tell}, where it has no fault point. */
    String say(String line) {
        return tell(line).orElseThrow(() -> new IllegalStateException("a fault point was reached by: " + line));
    }

    private Optional<String> answer(String told) throws IOException {
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.startsWith("ok ")) {
                return Optional.of(line.substring("ok ".length()));
            }
            if (line.startsWith("crab-fault ")) {
                return Optional.empty();
            }
            if (line.startsWith("failed ")) {
                throw new IllegalStateException("a JVM failed at " + line.substring("failed ".length()));
            }
        }
        throw new IllegalStateException("a JVM ended without an answer to: " + told);
    }

    /** Ends it by itself, and waits for it. */
    void exit() {
        try {
            in.write("exit\n");
            in.flush();
            int status = process.onExit().join().exitValue();
            if (status != 0) {
                throw new IllegalStateException("a JVM ended with " + status);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills it by SIGKILL, and waits until it is gone. */
    void kill() {
        process.toHandle().destroyForcibly();
        process.onExit().join();
    }

    @Override
    public void close() {
        kill();
    }
}
