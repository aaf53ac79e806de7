package dev.crab.samples.common;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Bytes of the disk that files take, what has several names counted once over all that is {@linkplain #add added}. Others may create and delete
 * files meanwhile: what vanishes counts as nothing. Not thread-safe.
 */
public final class DiskUse {
    private static final int BLOCK = 4096;

    private final Predicate<Path> counted;
    private final Set<Object> seen = new HashSet<>();
    private long bytes;

    /**
     * An empty sum.
     *
     * @param counted given a file's path below the directory that is added, whether the file counts
     */
    public DiskUse(Predicate<Path> counted) {
        this.counted = counted;
    }

    /** Adds the regular files below a directory; one that is not there has none. Links are not followed. */
    public DiskUse add(Path directory) {
        try {
            Files.walkFileTree(directory, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    if (attributes.isRegularFile()
                            && counted.test(directory.relativize(file))
                            && seen.add(attributes.fileKey())) {
                        // Java does not tell blocks. What is stored is never sparse: what it takes is its length, in
                        // whole blocks.
                        bytes += (attributes.size() + BLOCK - 1) / BLOCK * BLOCK;
                    }
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                    return goOn(e);
                }

                @Override
                public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException e) throws IOException {
                    return e == null ? FileVisitResult.CONTINUE : goOn(e);
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    private static FileVisitResult goOn(IOException e) throws IOException {
        if (e instanceof NoSuchFileException) {
            return FileVisitResult.CONTINUE;
        }
        throw e;
    }

    /** The sum. */
    public long bytes() {
        return bytes;
    }
}
