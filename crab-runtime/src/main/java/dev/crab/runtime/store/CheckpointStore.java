package dev.crab.runtime.store;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.OwnFiles;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Everything durable of one session, under its lock: journal, manifests and objects. Thread-safe.
 *
 * <p>{@code docs/store-format.md} is the specification of what lies on the disk and of the order in which it is written.
 */
public final class CheckpointStore implements AutoCloseable {
    /** Sessions whose dumps are looked at for pages in common: 8. */
    private static final int OTHERS = 8;

    private static final int ATTEMPTS = 100;

    static final String MANIFESTS = "manifests";
    private static final Logger LOG = LoggerFactory.getLogger(CheckpointStore.class);

    private final String session;
    private final StoreLock lock;
    private final FileJournal journal;
    private final ManifestStore manifests;
    private final FileObjectStore objects;

    private CheckpointStore(
            String session, StoreLock lock, FileJournal journal, ManifestStore manifests, FileObjectStore objects) {
        this.session = session;
        this.lock = lock;
        this.journal = journal;
        this.manifests = manifests;
        this.objects = objects;
    }

    /**
     * Opens a session's store, and makes it if it does not exist.
     *
     * @throws CrabException NAME_INVALID; DATA_DIRECTORY_UNUSABLE; SESSION_LOCKED; JOURNAL_CORRUPT; FORMAT_UNKNOWN; DISK_FULL; IO_FAILED
     */
    public static CheckpointStore open(DataDirectory data, String session) {
        Names.session(session);
        data.prepare();
        for (int attempt = 1; ; attempt++) {
            try {
                DurableFiles.directory(data.session(session));
            } catch (IOException e) {
                throw DataDirectory.refusal("session " + session + " cannot be made", data.session(session), e);
            }
            try {
                return openExisting(data, session);
            } catch (CrabException e) {
                // Somebody was just removing the session of that name that was there before.
                if (e.code() != ErrorCode.SESSION_UNKNOWN || attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    /**
     * Opens the store of a session that exists.
     *
     * @throws CrabException SESSION_UNKNOWN if it does not; else as {@link #open}
     */
    public static CheckpointStore openExisting(DataDirectory data, String session) {
        Names.session(session);
        if (!Files.isDirectory(data.session(session), LinkOption.NOFOLLOW_LINKS)) {
            throw unknown(data, session);
        }
        data.prepare();
        StoreLock lock;
        try {
            lock = StoreLock.acquire(data.lock(session), session);
        } catch (CrabException e) {
            if (Files.notExists(data.session(session), LinkOption.NOFOLLOW_LINKS)) {
                throw unknown(data, session); // removed just now
            }
            throw e;
        }
        boolean done = false;
        try {
            DurableFiles.directory(data.session(session).resolve(MANIFESTS));
            FileJournal journal = FileJournal.open(data.session(session));
            CheckpointStore store =
                    new CheckpointStore(session, lock, journal, manifests(data, session), new FileObjectStore(data));
            done = true;
            return store;
        } catch (IOException e) {
            throw DataDirectory.refusal("session " + session + " cannot be opened", data.session(session), e);
        } finally {
            // Whatever was thrown: a lock that nobody gives back would shut the session until this program ends.
            if (!done) {
                lock.close();
            }
        }
    }

    /**
     * Removes the journal and then the manifests of a session, whatever state they are in. When this returns no commit is on the disk any
     * more that needs an object or a snapshot, so that those may go. The caller holds the session's lock.
     *
     * @throws CrabException IO_FAILED
     */
    public static void removeCommits(DataDirectory data, String session) {
        Path directory = data.session(session);
        try {
            FileJournal.remove(directory);
            OwnFiles.remove(directory.resolve(MANIFESTS));
            DurableFiles.sync(directory);
        } catch (IOException e) {
            throw CrabException.io("session " + session + " cannot be removed", e);
        }
    }

    /**
     * Removes a session's directory. The lock's file goes last, so that nobody can take it while anything else is being removed: whoever
     * opens the name from then on makes a new one, and then the directory is his.
     *
     * @throws CrabException IO_FAILED
     */
    public static void removeDirectory(DataDirectory data, String session) {
        removeDirectory(data.session(session), data.lock(session), session);
    }

    /**
     * Removes the chat of a session that was opened without a sandbox. The caller holds its lock.
     *
     * @throws CrabException IO_FAILED
     */
    public static void removeChat(DataDirectory data, String session) {
        Path directory = data.chat(session);
        try {
            FileJournal.remove(directory);
        } catch (IOException e) {
            throw CrabException.io("the chat of session " + session + " cannot be removed", e);
        }
        removeDirectory(directory, directory.resolve("lock"), session);
    }

    private static void removeDirectory(Path directory, Path lock, String session) {
        try {
            List<Path> entries = new ArrayList<>();
            try (DirectoryStream<Path> all = Files.newDirectoryStream(directory, entry -> !entry.equals(lock))) {
                all.forEach(entries::add);
            }
            for (Path entry : entries) {
                OwnFiles.remove(entry);
            }
            Files.deleteIfExists(lock);
            Files.deleteIfExists(directory);
            DurableFiles.sync(DurableFiles.parent(directory));
        } catch (DirectoryNotEmptyException e) {
            LOG.debug("{} is a new session's already", directory, e);
        } catch (IOException e) {
            throw CrabException.io("session " + session + " cannot be removed", e);
        }
    }

    /** That there is no such session. */
    public static CrabException unknown(DataDirectory data, String session) {
        return CrabException.of(
                ErrorCode.SESSION_UNKNOWN,
                "session " + session + " cannot be opened",
                "there is none of that name in " + data.root(),
                "check the name and the data directory");
    }

    /** A session's manifests, for looking on without its lock. */
    public static ManifestStore manifests(DataDirectory data, String session) {
        return new ManifestStore(session, data.session(session).resolve(MANIFESTS));
    }

    /**
     * The newest dumps of the sessions that were last written to, for whoever looks for pages that are stored already. What cannot be
     * read is left out.
     *
     * @return at most 8
     */
    public static List<ObjectRef> dumpsOfOthers(DataDirectory data, String session) {
        List<ObjectRef> dumps = new ArrayList<>();
        List<Path> manifests = data.sessions().stream()
                .filter(other -> !other.equals(session))
                .map(other -> data.session(other).resolve(MANIFESTS))
                .filter(directory -> Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS))
                .sorted(Comparator.comparing((Path path) -> path.toFile().lastModified())
                        .reversed())
                .limit(OTHERS)
                .toList();
        for (Path directory : manifests) {
            try {
                ManifestStore store = manifests(
                        data, String.valueOf(DurableFiles.parent(directory).getFileName()));
                List<Long> generations = store.generations();
                if (!generations.isEmpty()) {
                    ProcessImage processes = store.read(generations.get(generations.size() - 1))
                            .checkpoint()
                            .processes();
                    if (processes != null) {
                        dumps.add(processes.dump());
                    }
                }
            } catch (CrabException e) {
                LOG.debug("manifests in {} are passed over", directory, e);
            }
        }
        return dumps;
    }

    public String session() {
        return session;
    }

    public FileJournal journal() {
        return journal;
    }

    public ManifestStore manifests() {
        return manifests;
    }

    public FileObjectStore objects() {
        return objects;
    }

    /**
     * Deletes every manifest that is not among those to keep, then every object of this session that none of the kept ones needs, the
     * remains of interrupted writes included. Must not run beside a capture of this session.
     *
     * @param kept the manifests that stay
     * @return names of the objects that were deleted
     * @throws CrabException IO_FAILED
     */
    public List<String> retain(List<Manifest> kept) {
        try {
            manifests.deleteTemporary();
        } catch (IOException e) {
            throw CrabException.io("the remains of interrupted writes cannot be deleted", e);
        }
        Unneeded unneeded = Unneeded.of(session, manifests, objects, kept);
        unneeded.delete(manifests, objects);
        return unneeded.objects();
    }

    /** Closes the journal and gives the lock back. Idempotent. */
    @Override
    public void close() {
        try (lock) {
            journal.close();
        }
    }
}
