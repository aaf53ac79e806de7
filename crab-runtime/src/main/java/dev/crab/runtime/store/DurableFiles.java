package dev.crab.runtime.store;

import dev.crab.runtime.fault.FaultPoints;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Files that survive a power cut once a method here has returned.
 *
 * <p>Content goes through {@code java.io} streams and not through channels: a channel closes itself when its thread is interrupted, and
 * an agent's time-out must not be able to tear a write or to close a journal that other threads use.
 */
final class DurableFiles {
    static final String TEMPORARY = ".tmp";

    private static final FileAttribute<Set<PosixFilePermission>> FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final FileAttribute<Set<PosixFilePermission>> DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private DurableFiles() {}

    @FunctionalInterface
    interface Content {
        void writeTo(OutputStream out) throws IOException;
    }

    /** Makes a directory of mode 0700 durably, unless it is there; a symbolic link in its place is refused. */
    static void directory(Path directory) throws IOException {
        if (Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            Files.createDirectory(directory, DIRECTORY);
        } catch (FileAlreadyExistsException e) {
            if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
                throw new NotDirectoryException(directory.toString());
            }
            return;
        }
        FaultPoints.reach("directory.made");
        sync(parent(directory));
    }

    /**
     * Replaces a file in one step: temporary file beside it (mode 0600), content, fsync, rename, fsync of the directory. If it fails
     * before the rename the temporary file is removed and the old file, if there was one, is as it was.
     *
     * @param renaming runs between the fsync of the temporary file and the rename
     */
    static void replace(Path file, Content content, Runnable renaming) throws IOException {
        Path temporary = file.resolveSibling(file.getFileName() + TEMPORARY);
        boolean renamed = false;
        try {
            Files.deleteIfExists(temporary);
            create(temporary);
            FaultPoints.reach("file.created");
            try (FileOutputStream out = new FileOutputStream(temporary.toFile())) {
                content.writeTo(out);
                FaultPoints.reach("file.written");
                out.getFD().sync();
            }
            FaultPoints.reach("file.flushed");
            renaming.run();
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            renamed = true;
            FaultPoints.reach("file.renamed");
            sync(parent(file));
            FaultPoints.reach("file.durable");
        } finally {
            if (!renamed) {
                remove(temporary.toFile());
            }
        }
    }

    /** Creates an empty file of mode 0600; fails if anything, a dangling link included, has that name. */
    static void create(Path file) throws IOException {
        Files.createFile(file, FILE);
    }

    /** Makes the names in a directory durable. */
    static void sync(Path directory) throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                // A directory cannot be opened as a stream, only as a channel; see the class comment for why an
                // interrupt is put off.
                interrupted |= Thread.interrupted();
                try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
                    channel.force(true);
                    return;
                } catch (ClosedByInterruptException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The directory a file of the store lies in. */
    static Path parent(Path file) {
        Path parent = file.getParent();
        if (parent == null) {
            throw new IllegalArgumentException("no parent: " + file);
        }
        return parent;
    }

    /** Removes a file without saying whether it was there: for clean-up behind a failure, which must not hide that failure. */
    @SuppressWarnings("ResultOfMethodCallIgnored")
    private static void remove(File file) {
        file.delete();
    }
}
