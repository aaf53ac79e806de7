package dev.crab.samples.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** One line on the machine that a figure was measured on. */
final class Machine {
    private Machine() {}

    static String describe() {
        return Runtime.getRuntime().availableProcessors() + " processors (" + field("/proc/cpuinfo", "model name")
                + "), memory " + field("/proc/meminfo", "MemTotal") + ", Linux " + System.getProperty("os.version")
                + ", Java "
                + Runtime.version() + ", load " + field("/proc/loadavg", "");
    }

    private static String field(String file, String name) {
        try (Stream<String> lines = Files.lines(Path.of(file))) {
            return lines.filter(line -> line.startsWith(name))
                    .map(line -> line.substring(name.isEmpty() ? 0 : line.indexOf(':') + 1)
                            .strip())
                    .map(value -> name.isEmpty() ? value.split(" ", 2)[0] : value)
                    .findFirst()
                    .orElse("unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }
}
