package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;

/**
 * Files and directories that Crab made under names of its own, and that somebody may have replaced since by what they must not be: a link
 * that leads elsewhere, a device without an end, a fifo that nobody writes to. Stateless.
 */
public final class OwnFiles {
    private OwnFiles() {}

    /** What is there is not what Crab makes under that name: damage, and no failure of the disk. */
    public static final class UnfitException extends FileSystemException {
        private static final long serialVersionUID = 1L;

        UnfitException(Path file, String reason) {
            super(file.toString(), null, reason);
        }
    }

    /**
     * Fails unless it is a regular file. Links are not followed.
     *
     * @throws NoSuchFileException if there is nothing of that name
     * @throws UnfitException if it is something else
     */
    public static void requireFile(Path file) throws IOException {
        BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (!found.isRegularFile()) {
            throw new UnfitException(file, "it is no plain file, but " + kind(found));
        }
    }

    /** As {@link #requireFile}, but nothing there will do: for what is about to be made. */
    public static void requireFileOrNothing(Path file) throws IOException {
        try {
            requireFile(file);
        } catch (NoSuchFileException e) {
            // Nothing, which will do.
        }
    }

    /**
     * Makes an empty file of mode 0600, unless it is there.
     *
     * @throws UnfitException if there is something else, a link to a file included
     */
    public static void make(Path file) throws IOException {
        try {
            Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        } catch (FileAlreadyExistsException e) {
            requireFileOrNothing(file); // nothing: removed just now
        }
    }

    /**
     * Refers to the file that has that name now ({@code O_PATH}), so that it stays itself whatever becomes of the name: {@link
     * NativeFd#path} opens it. POSIX record locks of the file do not end with the descriptor.
     *
     * @throws NoSuchFileException if there is nothing of that name
     * @throws UnfitException if it is no regular file
     */
    public static NativeFd pin(Path file) throws IOException {
        NativeFd pin;
        try {
            pin = new NativeFd(LibC.C.open(file.toString(), LibC.O_PATH | LibC.O_NOFOLLOW | LibC.O_CLOEXEC, 0));
        } catch (LastErrorException e) {
            throw e.getErrorCode() == LibC.ENOENT
                    ? new NoSuchFileException(file.toString())
                    : Errno.of(file.toString(), e);
        }
        try {
            BasicFileAttributes found = Files.readAttributes(pin.path(), BasicFileAttributes.class);
            if (!found.isRegularFile()) {
                throw new UnfitException(file, "it is no plain file, but " + kind(found));
            }
            return pin;
        } catch (IOException | RuntimeException e) {
            pin.close();
            throw e;
        }
    }

    /**
     * All of a regular file.
     *
     * @param limit bytes that may be there at most; no more are read
     * @throws NoSuchFileException if there is nothing of that name
     * @throws UnfitException if it is something else, or larger
     */
    public static byte[] read(Path file, int limit) throws IOException {
        requireFile(file);
        try (InputStream in = new FileInputStream(file.toFile())) {
            byte[] content = in.readNBytes(limit + 1);
            if (content.length > limit) {
                throw new UnfitException(file, "it has more than the " + limit + " bytes that can be there");
            }
            return content;
        }
    }

    /**
     * Makes a directory of mode 0700 with those above it, unless it is there.
     *
     * @throws CrabException DATA_DIRECTORY_UNUSABLE if there is something else, a link to a directory included: what is swept through it
     *     would be another's
     */
    public static void directory(Path directory) throws IOException {
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            Files.createDirectories(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        }
        requireDirectory(directory);
    }

    /**
     * Fails unless it is a directory and no link to one.
     *
     * @throws NoSuchFileException if there is nothing of that name
     * @throws CrabException DATA_DIRECTORY_UNUSABLE if it is something else
     */
    public static void requireDirectory(Path directory) throws IOException {
        BasicFileAttributes found =
                Files.readAttributes(directory, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (!found.isDirectory()) {
            throw CrabException.of(
                    ErrorCode.DATA_DIRECTORY_UNUSABLE,
                    directory + " cannot be used",
                    "it is no directory, but " + kind(found) + ", and Crab deletes what is old below it",
                    "move it away, so that Crab makes a directory there; to have it elsewhere, bind-mount that or set crab.data");
        }
    }

    /** Removes what has that name, whatever it is, without following a link. Does nothing if it is gone. */
    public static void remove(Path path) throws IOException {
        try {
            Files.deleteIfExists(path);
        } catch (DirectoryNotEmptyException e) {
            Path name = Objects.requireNonNull(path.getFileName());
            byte[] bytes = name.toString().getBytes(StandardCharsets.UTF_8);
            TreeRemoval.remove(
                    Objects.requireNonNull(path.getParent()), new String(bytes, StandardCharsets.ISO_8859_1));
        }
    }

    private static String kind(BasicFileAttributes found) {
        return found.isSymbolicLink()
                ? "a symbolic link"
                : found.isDirectory() ? "a directory" : found.isRegularFile() ? "a file" : "a device, fifo or socket";
    }
}
