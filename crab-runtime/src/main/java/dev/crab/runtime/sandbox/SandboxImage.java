package dev.crab.runtime.sandbox;

import java.nio.file.Path;

/** Where a sandbox's read-only root comes from. */
public sealed interface SandboxImage {
    /** A directory that holds a root file system. It must not change while sandboxes use it. */
    record Directory(Path path) implements SandboxImage {}

    /** A tar archive (plain, gzip, xz or zstd) of a root file system; unpacked once into the data directory. */
    record Tarball(Path path) implements SandboxImage {}

    /** The Debian root file system that {@code ./crab setup} builds: bash, coreutils, python3 and git. */
    record Debian() implements SandboxImage {}
}
