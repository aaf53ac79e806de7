package dev.crab.overlap.schedule;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The directory where the programs of a host meet. Whoever holds the lock there serves the others; the lock is the kernel's, so that it
 * ends with its owner however that dies.
 */
final class MeetingPlace {
    /** A POSIX lock is the process's, and is lost when the process closes any descriptor of the file: so it opens it once. */
    private static final Set<Path> SERVED = new HashSet<>();

    private final Path directory;

    private MeetingPlace(Path directory) {
        this.directory = directory;
    }

    /**
     * Makes the directory (mode 0700) where it is missing.
     *
     * @throws IOException if it cannot be made, is not this user's, or others may look into it
     */
    static MeetingPlace at(Path directory) throws IOException {
        Files.createDirectories(
                directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        PosixFileAttributes attributes =
                Files.readAttributes(directory, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (!attributes.isDirectory()) {
            throw new IOException(directory + " is no directory");
        }
        int owner = uid(directory);
        if (owner != self()) {
            throw new IOException(directory + " belongs to user " + owner + ", and this process runs as " + self());
        }
        for (PosixFilePermission permission : attributes.permissions()) {
            if (!permission.name().startsWith("OWNER")) {
                throw new IOException(directory + " lets others in, its mode is "
                        + PosixFilePermissions.toString(attributes.permissions()));
            }
        }
        return new MeetingPlace(directory.toRealPath());
    }

    /** The user id of this process. */
    static int self() throws IOException {
        return uid(Path.of("/proc/self"));
    }

    private static int uid(Path path) throws IOException {
        return (int) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    }

    Path socket() {
        return directory.resolve("socket");
    }

    /** The right to serve; null if somebody else has it. */
    @Nullable
    Service serve() throws IOException {
        synchronized (SERVED) {
            if (!SERVED.add(directory)) {
                return null;
            }
            boolean locked = false;
            FileChannel channel = null;
            try {
                channel = FileChannel.open(
                        directory.resolve("lock"),
                        Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
                FileLock lock = channel.tryLock();
                locked = lock != null;
                return locked ? new Service(channel) : null;
            } finally {
                if (!locked) {
                    SERVED.remove(directory);
                    if (channel != null) {
                        channel.close();
                    }
                }
            }
        }
    }

    /** The right to serve, until closed. */
    final class Service implements AutoCloseable {
        private final FileChannel lock;

        private Service(FileChannel lock) {
            this.lock = lock;
        }

        @Override
        public void close() throws IOException {
            synchronized (SERVED) {
                if (SERVED.remove(directory)) {
                    lock.close();
                }
            }
        }
    }
}
