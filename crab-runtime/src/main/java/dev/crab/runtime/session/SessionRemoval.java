package dev.crab.runtime.session;

import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileObjectStore;
import dev.crab.runtime.store.Names;
import dev.crab.runtime.store.StoreLock;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/**
 * Ends a session from outside: its sandbox alone, or for good. For good means: what a dead owner left running, then everything durable.
 *
 * <p>The journal goes first, as the only thing that says what was committed, and is gone from the disk before anything that it names: a
 * removal that a crash or a power cut breaks off leaves a session without any turn, whose leftovers the next opening or removal takes
 * away, and never one whose last commit names what is gone. A journal or manifest that is damaged does not stand in the way.
 */
final class SessionRemoval {
    private SessionRemoval() {}

    /**
     * Removes it.
     *
     * @throws dev.crab.runtime.error.CrabException SESSION_UNKNOWN, SESSION_LOCKED, IO_FAILED
     */
    static void remove(SessionServices services, String id) {
        DataDirectory data = services.data();
        if (!Files.isDirectory(data.session(id), LinkOption.NOFOLLOW_LINKS)) {
            throw CheckpointStore.unknown(data, id);
        }
        String sandboxId = data.prepare().sandbox(id);
        StoreLock lock = StoreLock.acquire(data.lock(id), id);
        try (lock) {
            SandboxSlots.sweep(services, sandboxId);
            CheckpointStore.removeCommits(data, id);
            FileObjectStore objects = new FileObjectStore(data);
            objects.list(Names.prefix(id)).forEach(objects::delete);
            for (String snapshot : services.snapshots().snapshots()) {
                if (snapshot.startsWith(Names.prefix(id))) {
                    // Only their names count; where they lie is the snapshotter's affair.
                    services.snapshots().delete(new Snapshot(snapshot, Path.of("")));
                }
            }
            CheckpointStore.removeDirectory(data, id);
        }
    }

    /**
     * Ends the sandbox that a dead owner left running; what was committed stays.
     *
     * @throws dev.crab.runtime.error.CrabException SESSION_UNKNOWN, SESSION_LOCKED, IO_FAILED
     */
    static void stop(SessionServices services, String id) {
        DataDirectory data = services.data();
        if (!Files.isDirectory(data.session(id), LinkOption.NOFOLLOW_LINKS)) {
            throw CheckpointStore.unknown(data, id);
        }
        String sandboxId = data.prepare().sandbox(id);
        StoreLock lock = StoreLock.acquire(data.lock(id), id);
        try (lock) {
            SandboxSlots.stop(services, sandboxId);
        }
    }
}
