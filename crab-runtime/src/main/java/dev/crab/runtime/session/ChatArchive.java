package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.JournalRecord;
import dev.crab.runtime.store.StoreLock;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * What is kept of a session that was opened where there could be no sandbox, read without opening it: also beside a living owner. Immutable.
 *
 * @param session its name
 * @param turns how many it has committed
 * @param lastMillis when it committed last, in milliseconds since 1970 UTC; 0 if it never did
 * @param superseded whether there is a session of that name with a sandbox, so that this chat is not taken up again
 */
public record ChatArchive(String session, int turns, long lastMillis, boolean superseded) {
    /**
     * Reads it.
     *
     * @throws CrabException NAME_INVALID, SESSION_UNKNOWN, JOURNAL_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    public static ChatArchive read(DataDirectory data, String session) {
        ensureExists(data, session);
        int turns = 0;
        long last = 0;
        for (JournalRecord entry : FileJournal.read(data.chat(session))) {
            if (entry.kind().equals(SessionRecords.COMMIT)) {
                turns++;
                last = entry.body().path("at").asLong();
            }
        }
        return new ChatArchive(session, turns, last, isSuperseded(data, session));
    }

    /** The pid of the living process that has it open, if one has. */
    public static OptionalLong owner(DataDirectory data, String session) {
        return StoreLock.owner(lock(data, session));
    }

    /** Whether there is one of that name. */
    public static boolean exists(DataDirectory data, String session) {
        return Files.isDirectory(data.chat(session), LinkOption.NOFOLLOW_LINKS);
    }

    static boolean isSuperseded(DataDirectory data, String session) {
        return Files.isDirectory(data.session(session), LinkOption.NOFOLLOW_LINKS);
    }

    static long bytes(DataDirectory data, String session) {
        return data.chat(session).resolve("journal").toFile().length();
    }

    /**
     * Removes it for good.
     *
     * @throws CrabException SESSION_UNKNOWN; SESSION_LOCKED while anybody has it open; IO_FAILED
     */
    static void remove(DataDirectory data, String session) {
        ensureExists(data, session);
        StoreLock lock = StoreLock.acquire(lock(data, session), session);
        try (lock) {
            CheckpointStore.removeChat(data, session);
        }
    }

    private static void ensureExists(DataDirectory data, String session) {
        if (!exists(data, session)) {
            throw CheckpointStore.unknown(data, session);
        }
    }

    private static Path lock(DataDirectory data, String session) {
        return data.chat(session).resolve("lock");
    }
}
