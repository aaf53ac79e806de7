package dev.crab.samples.store;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Programs of the system. */
final class Tool {
    private Tool() {}

    /** Runs one to its end and returns what it wrote, trimmed; fails if it fails. */
    static String run(String... command) throws IOException {
        Process process =
                new ProcessBuilder(List.of(command)).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        try {
            if (process.waitFor() != 0) {
                throw new IOException(String.join(" ", command) + ": " + output);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
        return output;
    }
}
