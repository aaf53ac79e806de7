package dev.crab.samples.quickstart;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * The world outside the sandbox, which no restore can put back: a board that shows every announcement for good. Like many services it
 * takes a key with each request and ignores a second request with the same key.
 */
record Announcements(Path file) {
    void post(String key, String text) {
        try {
            if (lines().stream().noneMatch(line -> line.startsWith(key + "\t"))) {
                Files.writeString(file, key + "\t" + text + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All announcements, in order. */
    List<String> texts() {
        try {
            return lines().stream()
                    .map(line -> line.substring(line.indexOf('\t') + 1))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> lines() throws IOException {
        return Files.exists(file) ? Files.readAllLines(file) : List.of();
    }
}
