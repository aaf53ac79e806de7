package dev.crab.samples.quickstart;

import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The end of a log file, for people. */
final class Logs {
    private Logs() {}

    /** Its last lines, at most {@code count}; a line that says so if it cannot be read. */
    static List<String> tail(Path log, int count) {
        try {
            List<String> lines = new String(Files.readAllBytes(log), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            return lines.subList(Math.max(0, lines.size() - count), lines.size());
        } catch (IOException e) {
            return List.of("(no log: " + CrabException.reason(e) + ")");
        }
    }
}
