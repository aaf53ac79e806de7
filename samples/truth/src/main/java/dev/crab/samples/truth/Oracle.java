package dev.crab.samples.truth;

import dev.crab.runtime.sandbox.SandboxProcesses;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The oracle program at work on one sandbox. Not thread-safe. */
final class Oracle implements AutoCloseable {
    private final Process process;
    private final BufferedWriter requests;
    private final BufferedReader answers;

    /** Starts the program for that sandbox, which must be running. */
    Oracle(Path program, SandboxProcesses sandbox) throws IOException {
        process = new ProcessBuilder(
                        program.toString(),
                        sandbox.cgroup().toString(),
                        Integer.toString(sandbox.initPid()),
                        sandbox.volume().upper().toString(),
                        sandbox.lower().toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        requests = process.outputWriter(StandardCharsets.UTF_8);
        answers = process.inputReader(StandardCharsets.UTF_8);
    }

    /** Reads the sandbox's state; it must be frozen from before the call until after it. */
    SystemState observe() throws IOException {
        requests.write("\n");
        requests.flush();
        Map<String, String> lines = new HashMap<>();
        while (true) {
            String line = answers.readLine();
            if (line == null) {
                throw new IOException("the oracle ended");
            }
            if (line.equals(".")) {
                return new SystemState(lines);
            }
            int tab = line.indexOf('\t');
            if (tab < 0) {
                throw new IOException("the oracle said: " + line);
            }
            lines.put(line.substring(0, tab), line.substring(tab + 1));
        }
    }

    @Override
    public void close() {
        try {
            requests.close();
            if (!process.waitFor(5, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            process.destroyForcibly();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
