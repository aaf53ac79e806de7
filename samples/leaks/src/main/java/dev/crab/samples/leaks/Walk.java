package dev.crab.samples.leaks;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.function.Consumer;

/** Names everything below a directory, and it; goes into no mount of a sandbox, and does not mind what vanishes meanwhile. */
final class Walk extends SimpleFileVisitor<Path> {
    private final Consumer<Path> told;

    Walk(Consumer<Path> told) {
        this.told = told;
    }

    @Override
    public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
        told.accept(directory);
        return directory.endsWith("merged") ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
        told.accept(file);
        return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException failure) {
        return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path directory, @org.jspecify.annotations.Nullable IOException failure) {
        return FileVisitResult.CONTINUE;
    }
}
