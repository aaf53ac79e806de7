package dev.crab.runtime.store;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;

/**
 * A session that comes to be from what another one has stored. Its journal is written last and appears in one step: until then it is a
 * session without any turn, which a crash may leave and which whoever opens, collects or removes it takes away. Not thread-safe.
 */
public final class BranchStore implements AutoCloseable {
    private final DataDirectory data;
    private final String session;
    private final StoreLock lock;
    private final FileObjectStore objects;
    private final boolean again;
    private boolean complete;

    private BranchStore(DataDirectory data, String session, StoreLock lock, boolean again) {
        this.again = again;
        this.data = data;
        this.session = session;
        this.lock = lock;
        this.objects = new FileObjectStore(data);
    }

    /**
     * Begins one, and removes what an earlier attempt left.
     *
     * @throws CrabException NAME_INVALID; NAME_TAKEN; SESSION_LOCKED; DATA_DIRECTORY_UNUSABLE; DISK_FULL; IO_FAILED
     */
    public static BranchStore begin(DataDirectory data, String session) {
        Path directory = data.session(session);
        if (Files.exists(directory.resolve(FileJournal.NAME), LinkOption.NOFOLLOW_LINKS)) {
            throw taken(session);
        }
        // The directory goes last: where there is none, nothing else is left of an earlier attempt.
        boolean again = Files.exists(directory, LinkOption.NOFOLLOW_LINKS);
        StoreLock lock;
        try {
            DurableFiles.directory(directory);
            lock = StoreLock.acquire(data.lock(session), session);
        } catch (IOException e) {
            throw DataDirectory.refusal("session " + session + " cannot be made", directory, e);
        }
        boolean done = false;
        try {
            BranchStore branch = new BranchStore(data, session, lock, again);
            if (Files.exists(directory.resolve(FileJournal.NAME), LinkOption.NOFOLLOW_LINKS)) {
                throw taken(session);
            }
            if (again) {
                CheckpointStore.removeCommits(data, session);
                branch.removeObjects();
            }
            DurableFiles.directory(directory.resolve(CheckpointStore.MANIFESTS));
            FaultPoints.reach("branch.begin");
            done = true;
            return branch;
        } catch (IOException e) {
            throw DataDirectory.refusal("session " + session + " cannot be made", directory, e);
        } finally {
            if (!done) {
                lock.close();
            }
        }
    }

    /** Whether an earlier attempt has left something, which may be snapshots too. */
    public boolean isAgain() {
        return again;
    }

    private static CrabException taken(String session) {
        return CrabException.of(
                ErrorCode.NAME_TAKEN,
                "session " + session + " cannot be made",
                "there is one of that name",
                "choose another name, or delete that session");
    }

    /**
     * Takes an object of another session over under a name of this one: by a link, so that its bytes are stored once; by a copy where the
     * file can have no more names.
     *
     * @throws CrabException OBJECT_CORRUPT if it is not there any more; DISK_FULL, IO_FAILED
     */
    public ObjectRef take(ObjectRef ref, String name) {
        ObjectRef link = objects.link(ref, name);
        if (link != null) {
            return link;
        }
        return objects.write(name, out -> {
            try (var in = objects.open(ref)) {
                in.transferTo(out);
            }
        });
    }

    /** Writes a manifest. */
    public void manifest(Manifest manifest) {
        CheckpointStore.manifests(data, session).write(manifest);
        FaultPoints.reach("branch.manifest");
    }

    /**
     * Writes the journal: with this the session is there, and not before.
     *
     * @param records its records; their sequence numbers are kept, from 0 without gaps
     * @throws CrabException DISK_FULL, IO_FAILED
     */
    public void complete(List<JournalRecord> records) {
        try {
            FileJournal.create(data.session(session), records);
        } catch (IOException e) {
            throw CrabException.io("the journal of session " + session + " cannot be written", e);
        }
        complete = true;
        FaultPoints.reach("branch.recorded");
    }

    private void removeObjects() {
        objects.list(Names.prefix(session)).forEach(objects::delete);
    }

    /** Gives the lock back; what was not completed is removed. Its snapshots are the caller's. */
    @Override
    public void close() {
        try (lock) {
            if (!complete) {
                CheckpointStore.removeCommits(data, session);
                removeObjects();
                CheckpointStore.removeDirectory(data, session);
            }
        }
    }
}
