package dev.crab.samples.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileStore;
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

    /** Bytes that new programs could get; 0 if unknown. */
    static long availableMemory() {
        String value = field("/proc/meminfo", "MemAvailable");
        return value.endsWith(" kB") ? 1024 * Long.parseLong(value.substring(0, value.length() - 3)) : 0;
    }

    /** Bytes used on the file systems of a data directory: its own, and the btrfs in it where that is another. */
    static long used(Path data) {
        try {
            FileStore own = Files.getFileStore(data);
            Path btrfs = data.resolve("btrfs");
            FileStore inner = Files.isDirectory(btrfs) ? Files.getFileStore(btrfs) : own;
            long used = own.getTotalSpace() - own.getUnallocatedSpace();
            return inner.name().equals(own.name()) ? used : inner.getTotalSpace() - inner.getUnallocatedSpace();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
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
