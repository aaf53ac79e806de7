package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.snapshot.Volume;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileObjectStore;
import dev.crab.runtime.store.ManifestStore;
import dev.crab.runtime.store.Names;
import dev.crab.runtime.store.StoreLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * Ends a session from outside: its sandbox alone, or for good. For good means: what a dead owner left running, then everything durable.
 *
 * <p>The journal goes first, as the only thing that says what was committed: a removal that a crash breaks off leaves a session without
 * any turn, whose leftovers the next opening or removal takes away, and never one whose last commit names what is gone. A journal or
 * manifest that is damaged does not stand in the way.
 */
final class SessionRemoval {
    private SessionRemoval() {}

    /**
     * Removes it.
     *
     * @throws CrabException SESSION_UNKNOWN, SESSION_LOCKED, IO_FAILED
     */
    static void remove(SessionServices services, String id) {
        DataDirectory data = services.data();
        Path directory = data.session(id);
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            throw CheckpointStore.unknown(data, id);
        }
        String sandboxId = data.prepare().sandbox(id);
        StoreLock lock = StoreLock.acquire(data.lock(id), id);
        try (lock) {
            services.factory().sweep(sandboxId);
            services.snapshots().recover();
            Files.deleteIfExists(directory.resolve("journal"));
            Files.deleteIfExists(directory.resolve("journal.durable"));
            ManifestStore manifests = CheckpointStore.manifests(data, id);
            manifests.generations().forEach(manifests::delete);
            FileObjectStore objects = new FileObjectStore(data);
            objects.list(Names.prefix(id)).forEach(objects::delete);
            for (String snapshot : services.snapshots().snapshots()) {
                if (snapshot.startsWith(Names.prefix(id))) {
                    // Only their names count; where they lie is the snapshotter's affair.
                    services.snapshots().delete(new Snapshot(snapshot, Path.of("")));
                }
            }
            services.snapshots().delete(new Volume(sandboxId, Path.of("")));
            deleteTree(directory);
        } catch (IOException e) {
            throw CrabException.io("session " + id + " cannot be removed", e);
        }
    }

    /**
     * Ends the sandbox that a dead owner left running; what was committed stays.
     *
     * @throws CrabException SESSION_UNKNOWN, SESSION_LOCKED, IO_FAILED
     */
    static void stop(SessionServices services, String id) {
        DataDirectory data = services.data();
        if (!Files.isDirectory(data.session(id), LinkOption.NOFOLLOW_LINKS)) {
            throw CheckpointStore.unknown(data, id);
        }
        String sandboxId = data.prepare().sandbox(id);
        StoreLock lock = StoreLock.acquire(data.lock(id), id);
        try (lock) {
            services.factory().sweep(sandboxId);
        }
    }

    /** The lock file goes with the rest: whoever opens the name from now on makes a new one. */
    private static void deleteTree(Path directory) throws IOException {
        List<Path> entries;
        try (Stream<Path> all = Files.walk(directory)) {
            entries = all.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path entry : entries) {
            Files.delete(entry);
        }
    }
}
