package dev.crab.samples.quickstart;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** A small file system in a sparse file, mounted for as long as it is open, which a run may fill without harm to the host. */
final class SmallDisk implements AutoCloseable {
    /** Which disk becomes full. */
    enum Kind {
        /** The one that the objects lie on, and the file that holds the btrfs of the snapshots. */
        OBJECTS("ext4", "data", "the disk of the objects, and of the file with the snapshots' btrfs"),
        /** The btrfs of the snapshots alone; the objects have room. */
        SNAPSHOTS("ext4", "data/btrfs", "the btrfs of the snapshots; the objects have room"),
        /** One btrfs for both. */
        BOTH("btrfs", "data", "one btrfs with objects and snapshots");

        private final String type;
        private final String filled;
        private final String label;

        Kind(String type, String filled, String label) {
            this.type = type;
            this.filled = filled;
            this.label = label;
        }

        String label() {
            return label;
        }
    }

    private static final String SIZE = "640M";
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    private final Deque<List<String>> undo = new ArrayDeque<>();
    private final Path directory;
    private final Kind kind;

    /** Makes it and a data directory on it, whose images are those of another data directory. */
    SmallDisk(Kind kind, Path images) {
        this.kind = kind;
        boolean made = false;
        try {
            directory = Files.createTempDirectory("crab-disk-");
            undo.push(List.of("rmdir", directory.toString()));
            Path file = Files.createTempFile("crab-disk-", ".img");
            undo.push(List.of("rm", file.toString()));
            run("truncate", "-s", SIZE, file.toString());
            run("mkfs." + kind.type, "-q", file.toString());
            run("mount", "-o", "loop", file.toString(), directory.toString());
            undo.push(List.of("umount", directory.toString()));
            Files.createDirectory(data());
            run("chmod", "0700", data().toString());
            Files.createSymbolicLink(data().resolve("images"), images.toRealPath());
            made = true;
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } finally {
            if (!made) {
                close();
            }
        }
    }

    Path data() {
        return directory.resolve("data");
    }

    /** The file that takes all the room. */
    Path filler() {
        return directory.resolve(kind.filled).resolve("filler");
    }

    /** Fills the file system of that file with it. */
    static void fill(Path filler) {
        for (int size : new int[] {1 << 20, 1 << 12}) {
            byte[] chunk = new byte[size];
            try (var out = Files.newOutputStream(
                    filler,
                    java.nio.file.StandardOpenOption.CREATE,
                    java.nio.file.StandardOpenOption.APPEND,
                    java.nio.file.StandardOpenOption.DSYNC)) {
                while (true) {
                    out.write(chunk);
                }
            } catch (IOException e) {
                if (!String.valueOf(e.getMessage()).contains("No space left on device")) {
                    throw new java.io.UncheckedIOException(e);
                }
            }
        }
    }

    private static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int status = process.onExit().join().exitValue();
        if (status != 0) {
            throw new IOException(String.join(" ", command) + " ended with " + status + ": " + output);
        }
    }

    @Override
    public void close() {
        try {
            long patience = System.nanoTime() + PATIENCE_NANOS;
            while (!undo.isEmpty()) {
                try {
                    run(undo.peek().toArray(new String[0]));
                    undo.pop();
                } catch (IOException e) {
                    // The kernel lets go of a btrfs's file some time after the btrfs was unmounted.
                    if (!String.valueOf(e.getMessage()).contains("busy") || System.nanoTime() - patience > 0) {
                        throw e;
                    }
                    LockSupport.parkNanos(20_000_000);
                }
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
