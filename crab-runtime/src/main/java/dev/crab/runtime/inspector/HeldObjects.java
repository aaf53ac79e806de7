package dev.crab.runtime.inspector;

import dev.crab.runtime.os.PeerProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * What a survivor holds that no comparison of names finds: files without a name, which others reach through {@code /proc/PID/fd}, and
 * queues of what happened to the files that it watches, and files' pages on their way through a pipe or socket. The survivor need not run for either to change.
 *
 * @param survivor the process
 * @param holdings what it holds
 */
record HeldObjects(ProcessRef survivor, Holdings holdings) {
    /** The kernel's coarse clock, which stamps files, is this much behind at most. */
    private static final long CLOCK_GRAIN_NANOS = 20_000_000;

    /** Now, in the unit and from the origin of {@link #unnamedFileChanged}. */
    static long now() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }

    /**
     * Whether a file without a name changed: by its change time, which the kernel alone sets, or because a write to it was seen.
     *
     * @param since nanoseconds since 1970
     * @param written inodes that were written since then
     */
    boolean unnamedFileChanged(long since, Set<Long> written) throws IOException {
        for (int descriptor : holdings.unnamed()) {
            Path link = Path.of("/proc", Integer.toString(survivor.pid()), "fd", Integer.toString(descriptor));
            try {
                Map<String, Object> attributes = Files.readAttributes(link, "unix:ino,ctime");
                FileTime time = (FileTime) Objects.requireNonNull(attributes.get("ctime"));
                long changed = time.to(TimeUnit.NANOSECONDS);
                if (changed >= since - CLOCK_GRAIN_NANOS
                        || written.contains((Long) Objects.requireNonNull(attributes.get("ino")))) {
                    return true;
                }
            } catch (NoSuchFileException e) {
                return true; // closed since: the survivor did something
            }
        }
        return false;
    }

    /** Whether events wait in a queue by which it watches files. Readers find them, so that they are part of its state. */
    boolean hasNotifications() {
        return anyQueued(holdings.watchers());
    }

    /**
     * Whether anything waits in a pipe or socket. splice(2) and sendfile(2) put a file's pages there and no copies, so that what is written
     * to the file later is read from the channel.
     */
    boolean hasQueuedData() {
        return anyQueued(holdings.channels());
    }

    private boolean anyQueued(Set<Integer> descriptors) {
        if (descriptors.isEmpty()) {
            return false;
        }
        try (PeerProcess peer = PeerProcess.open(survivor.pid())) {
            for (int descriptor : descriptors) {
                if (peer.queued(descriptor) > 0) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            return true; // closed since, or of a kind that does not tell
        }
    }
}
