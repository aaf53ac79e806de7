package dev.crab.runtime.store;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.os.NativeFd;
import dev.crab.runtime.os.OwnFiles;
import dev.crab.runtime.os.ProcFs;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The lock that gives a session one owner on the host. Thread-safe.
 *
 * <p>The lock itself is the kernel's (a POSIX record lock), so it ends with its owner however that dies; the owner's pid and start time
 * stand in the file only so that they can be named. POSIX drops a process's lock as soon as the process closes <em>any</em> descriptor
 * of that file. Hence the table of what this JVM holds: a file in it is never opened a second time here.
 */
public final class StoreLock implements AutoCloseable {
    private static final Pattern CONTENT = Pattern.compile("(\\d{1,10}) (\\d{1,20})\n");
    private static final int CONTENT_LIMIT = 64;
    private static final int ATTEMPTS = 100;
    private static final Map<Object, StoreLock> HELD = new HashMap<>();

    private final Object key;
    private final FileChannel channel;

    private StoreLock(Object key, FileChannel channel) {
        this.key = key;
        this.channel = channel;
    }

    /**
     * Takes the lock, or refuses at once.
     *
     * @param file the lock file; made if it does not exist; a symbolic link in its place is refused
     * @param session the session's name, for messages
     * @throws CrabException SESSION_LOCKED naming the living owner's pid; DATA_DIRECTORY_UNUSABLE, DISK_FULL or IO_FAILED
     */
    public static StoreLock acquire(Path file, String session) {
        // A pending interrupt would close the channel at its first use: it is put off until the lock is decided.
        boolean interrupted = Thread.interrupted();
        synchronized (HELD) {
            try {
                Object key = key(file);
                if (HELD.containsKey(key)) {
                    throw locked(
                            session,
                            "this process (pid " + ProcessHandle.current().pid() + ") has it open");
                }
                for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
                    StoreLock lock = open(file, session, key);
                    if (lock != null) {
                        return lock;
                    }
                }
                throw locked(session, "its lock is being removed and made anew all the time");
            } catch (OwnFiles.UnfitException e) {
                throw CrabException.of(
                        ErrorCode.DATA_DIRECTORY_UNUSABLE,
                        "the lock of session " + session + " cannot be taken",
                        file + ": " + e.getReason(),
                        "remove it, while no program has the session open",
                        e);
            } catch (IOException e) {
                throw DataDirectory.refusal("the lock of session " + session + " cannot be taken", file, e);
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }

    /**
     * The pid of the living process that owns the session, if one does.
     *
     * @throws CrabException IO_FAILED
     */
    public static OptionalLong owner(Path file) {
        synchronized (HELD) {
            try {
                if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                    return OptionalLong.empty();
                }
                if (HELD.containsKey(key(file))) {
                    return OptionalLong.of(ProcessHandle.current().pid());
                }
                // Only an exclusive lock tells, and it needs a writable descriptor; it is given back at once.
                try (FileChannel probe = FileChannel.open(
                        file, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
                    FileLock lock = tryLock(probe);
                    return lock != null ? OptionalLong.empty() : OptionalLong.of(recordedOwner(probe));
                }
            } catch (NoSuchFileException e) {
                return OptionalLong.empty(); // removed just now
            } catch (IOException e) {
                throw CrabException.io("it cannot be told who owns " + file, e);
            }
        }
    }

    /** Null if the file that was locked is not, or may not be, the one of that name: it was removed with its session meanwhile. */
    private static @Nullable StoreLock open(Path file, String session, Object key) throws IOException {
        OwnFiles.make(file);
        // Pinned: as long as the inode is referred to, no other file gets its number, so that equal numbers mean one
        // file. The channel must lead to that inode, not to what the name means by then.
        try (NativeFd pin = OwnFiles.pin(file)) {
            return open(file, pin, session, key);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private static @Nullable StoreLock open(Path file, NativeFd pin, String session, Object key) throws IOException {
        FileChannel channel = FileChannel.open(pin.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
        boolean held = false;
        try {
            FileLock lock = tryLock(channel);
            if (lock == null) {
                long owner = recordedOwner(channel);
                throw locked(session, owner > 0 ? "process " + owner + " has it open" : "another process has it open");
            }
            if (!Files.isSameFile(pin.path(), file)) {
                return null;
            }
            long pid = ProcessHandle.current().pid();
            byte[] content = (pid + " " + ProcFs.started(pid).orElse(0) + "\n").getBytes(StandardCharsets.US_ASCII);
            FaultPoints.reach("lock.taken");
            channel.truncate(0);
            channel.write(ByteBuffer.wrap(content), 0);
            FaultPoints.reach("lock.named");
            StoreLock result = new StoreLock(key, channel);
            HELD.put(key, result);
            held = true;
            return result;
        } finally {
            if (!held) {
                channel.close();
            }
        }
    }

    /** The lock, or null if another process has it. */
    private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            // Only reachable if other code of this JVM locks the file behind our back.
            return null;
        }
    }

    private static long recordedOwner(FileChannel channel) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(CONTENT_LIMIT);
        int length = channel.read(buffer, 0);
        String text = new String(buffer.array(), 0, Math.max(0, length), StandardCharsets.US_ASCII);
        Matcher matcher = CONTENT.matcher(text);
        return matcher.matches() ? Long.parseLong(matcher.group(1)) : 0;
    }

    /** What tells one file from another for POSIX locks: directory and name, with links in the way to the directory resolved. */
    private static Object key(Path file) throws IOException {
        return DurableFiles.parent(file.toAbsolutePath()).toRealPath().resolve(file.getFileName());
    }

    private static CrabException locked(String session, String why) {
        return CrabException.of(
                ErrorCode.SESSION_LOCKED,
                "session " + session + " cannot be opened",
                why,
                "close it there, end that process, or use another session");
    }

    /** Gives the lock back; the file stays. Idempotent. */
    @Override
    public void close() {
        synchronized (HELD) {
            if (HELD.remove(key, this)) {
                try {
                    channel.close();
                } catch (IOException e) {
                    throw CrabException.io("a session's lock cannot be released", e);
                }
            }
        }
    }
}
