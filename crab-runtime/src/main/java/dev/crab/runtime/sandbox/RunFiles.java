package dev.crab.runtime.sandbox;

import dev.crab.runtime.os.OwnFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Objects;

/**
 * Where the run-time files of one sandbox lie: {@code /run/crab/HASH/ID}, where HASH tells data directories apart. The hash is the first
 * eight hexadecimal digits of the SHA-256 of the data directory's absolute path.
 */
record RunFiles(Path directory) {
    private static final Path BASE = Path.of("/run/crab");

    /** How often the directory above is made anew while others that go take it along. */
    private static final int ATTEMPTS = 1000;

    static RunFiles of(Path data, String id) {
        return new RunFiles(BASE.resolve(hash(data)).resolve(id));
    }

    private static String hash(Path data) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] hash =
                    digest.digest(data.toAbsolutePath().normalize().toString().getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash, 0, 4);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    Path merged() {
        return directory.resolve("merged");
    }

    Path networkNamespace() {
        return directory.resolve("netns");
    }

    Path bundle() {
        return directory.resolve("bundle");
    }

    Path runcState() {
        return directory.resolve("runc");
    }

    Path pidFile() {
        return directory.resolve("pid");
    }

    Path log() {
        return directory.resolve("runc.log");
    }

    /** Makes the directories for the owner alone; fails with FileAlreadyExistsException if the sandbox's own exists. */
    void create() throws IOException {
        var mode = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
        Path above = Objects.requireNonNull(directory.getParent());
        boolean made = false;
        for (int attempt = 1; !made; attempt++) {
            try {
                Files.createDirectories(above, mode);
            } catch (FileAlreadyExistsException e) {
                // It was there when it was to be made, and gone when it was looked at: see below.
                if (attempt == ATTEMPTS || (Files.exists(above) && !Files.isDirectory(above))) {
                    throw e;
                }
            }
            try {
                Files.createDirectory(directory, mode);
                made = true;
            } catch (NoSuchFileException e) {
                // The last sandbox beside it went meanwhile, and took the directory above along.
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
        OwnFiles.requireDirectory(above);
        Files.createDirectory(merged(), mode);
    }

    /** Removes them, and the directory above if no other sandbox of the data directory has files there. Idempotent. */
    void delete() throws IOException {
        Path above = Objects.requireNonNull(directory.getParent());
        if (!Files.exists(above, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        OwnFiles.requireDirectory(above);
        deleteTree(directory);
        try {
            Files.deleteIfExists(above);
        } catch (DirectoryNotEmptyException e) {
            // Others are there.
        }
    }

    /** Deletes a directory that only Crab writes, without following links. Nothing there is success. */
    static void deleteTree(Path top) throws IOException {
        if (!Files.exists(top, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        Files.walkFileTree(top, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(
                    Path directory, @org.jspecify.annotations.Nullable IOException failure) throws IOException {
                if (failure != null) {
                    throw failure;
                }
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
