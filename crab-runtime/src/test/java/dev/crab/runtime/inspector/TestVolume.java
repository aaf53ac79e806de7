package dev.crab.runtime.inspector;

import dev.crab.runtime.store.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A subvolume with {@code upper/} and {@code work/} on a btrfs of its own. */
final class TestVolume implements AutoCloseable {
    private final Path mountPoint;
    private final Path directory;

    /** @param below an empty directory */
    TestVolume(Path below) throws IOException {
        Path image = below.resolve("btrfs.img");
        mountPoint = Files.createDirectory(below.resolve("mount"));
        TestSandbox.run("truncate", "-s", "1G", image.toString());
        TestSandbox.run("mkfs.btrfs", "-q", image.toString());
        TestSandbox.run("mount", "-o", "loop,noatime", image.toString(), mountPoint.toString());
        directory = mountPoint.resolve("volume");
        TestSandbox.run("btrfs", "-q", "subvolume", "create", directory.toString());
        Files.createDirectory(upper());
        Files.createDirectory(directory.resolve("work"));
    }

    Path directory() {
        return directory;
    }

    Path upper() {
        return directory.resolve("upper");
    }

    Path scratch() {
        return mountPoint.resolve("volume.scratch");
    }

    @Override
    public void close() throws IOException {
        SmallDisk.unmount(mountPoint);
    }
}
