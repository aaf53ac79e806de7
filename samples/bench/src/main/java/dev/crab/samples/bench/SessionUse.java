package dev.crab.samples.bench;

import dev.crab.samples.common.DiskUse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * What a session and those that were branched from it (their names begin with its name) take of the host.
 *
 * @param store bytes of the disk that their objects, manifests and journals take; what has several names counts once
 * @param snapshots bytes of the disk that their snapshots' files take, once where they are shared; 0 where they are not on btrfs
 */
record SessionUse(long store, long snapshots) {
    static SessionUse of(Path data, String session) {
        DiskUse store = new DiskUse(file -> file.toString().contains(session))
                .add(data.resolve("sessions"))
                .add(data.resolve("objects"));
        return new SessionUse(store.bytes(), snapshots(data.resolve("btrfs/snapshots"), session));
    }

    /** Bytes that the processes in their sandboxes hold; what several share counts in parts. */
    static long memory(String session) {
        long kilobytes = 0;
        try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
            for (Path process : processes
                    .filter(path -> path.getFileName().toString().matches("[0-9]+"))
                    .toList()) {
                if (read(process.resolve("cgroup")).contains("/crab/" + session)) {
                    kilobytes += read(process.resolve("smaps_rollup"))
                            .lines()
                            .filter(line -> line.startsWith("Pss:"))
                            .mapToLong(line -> Long.parseLong(line.split("\\s+", -1)[1]))
                            .sum();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return 1024 * kilobytes;
    }

    /** Of a process that may have ended. */
    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }

    /** By {@code btrfs filesystem du}: what is theirs alone, and what they share. */
    private static long snapshots(Path snapshots, String session) {
        if (!Files.isDirectory(snapshots)) {
            return 0;
        }
        try (Stream<Path> all = Files.list(snapshots)) {
            List<String> theirs = all.filter(
                            path -> path.getFileName().toString().startsWith(session))
                    .map(Path::toString)
                    .toList();
            if (theirs.isEmpty()) {
                return 0;
            }
            run(List.of("btrfs", "filesystem", "sync", snapshots.toString()));
            long bytes = 0;
            for (String one : theirs) {
                // total, exclusive, shared within it, name
                String[] fields = run(List.of("btrfs", "filesystem", "du", "-s", "--raw", one))
                        .lines()
                        .reduce("", (before, line) -> line)
                        .strip()
                        .split("\\s+", -1);
                bytes += Long.parseLong(fields[1]);
            }
            return bytes;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int status = process.onExit().join().exitValue();
        if (status != 0) {
            throw new IOException(String.join(" ", command) + " ended with " + status + ": " + output);
        }
        return output;
    }

    SessionUse minus(SessionUse other) {
        return new SessionUse(store - other.store, snapshots - other.snapshots);
    }

    SessionUse plus(SessionUse other) {
        return new SessionUse(store + other.store, snapshots + other.snapshots);
    }

    long bytes() {
        return store + snapshots;
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT, "%.2f MB in the store and %.2f MB in snapshots", store / 1e6, snapshots / 1e6);
    }
}
