package dev.crab.samples.truth;

import dev.crab.runtime.os.Mounts;
import dev.crab.runtime.sandbox.SandboxFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** A fresh, empty file system of one type for sandboxes' writable layers: a loop-mounted image, or tmpfs. Closing it unmounts it. */
final class Ground implements AutoCloseable {
    /** The types of file system that are tested. */
    enum Type {
        BTRFS("mkfs.btrfs -q -f"),
        EXT4("mkfs.ext4 -q -F"),
        XFS("mkfs.xfs -q -f"),
        TMPFS("");

        private final String maker;

        Type(String maker) {
            this.maker = maker;
        }

        String label() {
            return name().toLowerCase(Locale.ROOT);
        }

        static Type of(String label) {
            for (Type type : values()) {
                if (type.label().equals(label)) {
                    return type;
                }
            }
            throw new IllegalArgumentException("no file system to test on is named " + label);
        }
    }

    private static final String SIZE = "2G";

    private final Type type;
    private final Path image;
    private final Path directory;

    /** Makes the file system and mounts it below that directory. */
    Ground(Type type, Path below) throws IOException {
        this.type = type;
        this.image = below.resolve(type.label() + ".img");
        this.directory = Files.createDirectories(below.resolve(type.label()));
        if (type == Type.TMPFS) {
            Host.run("mount", "-t", "tmpfs", "-o", "size=" + SIZE, "crab-truth", directory.toString());
            return;
        }
        Host.run("truncate", "-s", SIZE, image.toString());
        ArrayList<String> maker = new ArrayList<>(List.of(type.maker.split(" ", -1)));
        maker.add(image.toString());
        Host.run(maker.toArray(String[]::new));
        Host.run("mount", "-o", "loop,noatime", image.toString(), directory.toString());
    }

    /** Removes what a run that was killed left of that file system, and the sandboxes on it. */
    static void sweep(Type type, Path below, SandboxFactory factory) throws IOException {
        Path directory = below.resolve(type.label());
        if (Files.notExists(directory)) {
            return;
        }
        try (Stream<Path> volumes = Files.list(directory)) {
            volumes.map(volume -> volume.getFileName().toString())
                    .filter(id -> id.startsWith(Arena.PREFIX))
                    .forEach(factory::sweep);
        }
        Mounts.unmount(directory);
    }

    Type type() {
        return type;
    }

    Path directory() {
        return directory;
    }

    @Override
    public void close() {
        try {
            Mounts.unmount(directory);
            Files.deleteIfExists(image);
            Files.deleteIfExists(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
