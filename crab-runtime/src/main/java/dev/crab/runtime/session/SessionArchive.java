package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.engine.SnapshotVerifier;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.SessionRecords.Details;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.FileObjectStore;
import dev.crab.runtime.store.JournalRecord;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.ManifestStore;
import dev.crab.runtime.store.Names;
import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.StoreLock;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the store holds of a session, read without opening it: also beside a living owner, whom it does not disturb. Immutable.
 *
 * @param session its name
 * @param spec what its sandbox is like, as its first record has it; empty if it was never opened completely
 * @param turns its committed turns, oldest first; not those that a rollback made void
 * @param records everything in its journal, for those who have written something there themselves
 */
public record SessionArchive(String session, ObjectNode spec, List<CommittedTurn> turns, List<JournalRecord> records) {
    /**
     * A turn as its commit record has it.
     *
     * @param commit the commit
     * @param saved what was stored for it
     * @param lost what could not be captured
     * @param bytes bytes written for it, the commit record not included
     * @param captureNanos from the boundary until the sandbox ran freely again
     * @param freezeNanos the part of it in which the sandbox was held still
     * @param atMillis when, in milliseconds since 1970 UTC
     */
    public record CommittedTurn(
            Commit commit,
            TurnOutcome.Saved saved,
            List<String> lost,
            long bytes,
            long captureNanos,
            long freezeNanos,
            long atMillis) {}

    /**
     * One thing that {@link #verify} has looked at.
     *
     * @param subject the file or the snapshot
     * @param problem what is wrong with it; null if nothing is
     */
    public record Finding(String subject, @Nullable CrabException problem) {}

    /**
     * Reads a session.
     *
     * @throws CrabException NAME_INVALID, SESSION_UNKNOWN, JOURNAL_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    public static SessionArchive read(DataDirectory data, String session) {
        if (!Files.isDirectory(data.session(session), LinkOption.NOFOLLOW_LINKS)) {
            throw CheckpointStore.unknown(data, session);
        }
        List<JournalRecord> records = FileJournal.read(data.session(session));
        Timeline timeline = SessionRecords.timeline(session, records);
        List<CommittedTurn> turns = new ArrayList<>();
        for (JournalRecord entry : SessionRecords.commits(records)) {
            Details details = SessionRecords.details(entry);
            turns.add(new CommittedTurn(
                    SessionRecords.commit(entry),
                    details.saved(),
                    details.lost(),
                    details.bytes(),
                    details.captureNanos(),
                    details.freezeNanos(),
                    details.atMillis()));
        }
        ObjectNode spec = timeline == null ? JsonNodeFactory.instance.objectNode() : timeline.specJson();
        return new SessionArchive(session, spec, List.copyOf(turns), records);
    }

    /**
     * Where a session that was branched came from.
     *
     * @param session the one that it began as
     * @param turn the turn of that
     */
    public record Origin(String session, long turn) {}

    /** Where this one came from, if it was branched. */
    public Optional<Origin> origin() {
        return Optional.ofNullable(Branching.origin(records));
    }

    /**
     * What differs between two turns of a session; needs no lock.
     *
     * @param from a turn, or 0 for the image as it came
     * @param to another one, older or newer
     * @throws CrabException SESSION_UNKNOWN, TURN_UNKNOWN, TURN_NOT_KEPT, JOURNAL_CORRUPT, MANIFEST_CORRUPT, OBJECT_CORRUPT, IO_FAILED
     */
    public static TurnDiff diff(DataDirectory data, String session, long from, long to) {
        return SessionAtRest.diff(data, session, from, to);
    }

    /**
     * The committed turns of a session that count, oldest first; needs no lock.
     *
     * @throws CrabException SESSION_UNKNOWN, JOURNAL_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    public static List<TurnInfo> turns(DataDirectory data, String session) {
        SessionAtRest.requireThere(data, session);
        return TurnList.read(data, session);
    }

    /** Names for branches of a session that nobody uses: {@code <session>-b1} and so on; NAME_INVALID where its own is too long. */
    public static List<String> freeNames(DataDirectory data, String session, int count) {
        return Branching.freeNames(data, session, count);
    }

    /** The pid of the living process that has the session open, if one has. */
    public static OptionalLong owner(DataDirectory data, String session) {
        return StoreLock.owner(data.lock(Names.session(session)));
    }

    /**
     * The manifest of the newest commit.
     *
     * @return null if nothing was ever captured
     * @throws CrabException GENERATION_UNKNOWN, MANIFEST_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    public @Nullable Manifest newestManifest(DataDirectory data) {
        Commit last = turns.isEmpty() ? null : turns.get(turns.size() - 1).commit();
        return last == null || last.generation() == 0 ? null : last.manifest(CheckpointStore.manifests(data, session));
    }

    /**
     * Checks, without restoring anything, that every kept generation could be: its manifest, its objects byte by byte, its snapshot file by file. The
     * journal was checked by {@link #read}.
     *
     * @param onFinding told of each thing as soon as it was looked at
     */
    public void verify(DataDirectory data, Snapshotter snapshots, Consumer<Finding> onFinding) {
        ManifestStore manifests = CheckpointStore.manifests(data, session);
        FileObjectStore objects = new FileObjectStore(data);
        long committed =
                turns.isEmpty() ? 0 : turns.get(turns.size() - 1).commit().generation();
        List<Long> generations = new ArrayList<>(manifests.generations());
        if (committed > 0 && !generations.contains(committed)) {
            generations.add(committed);
        }
        Set<ObjectRef> looked = new HashSet<>();
        for (long generation : generations) {
            List<Finding> found = new ArrayList<>();
            Manifest manifest = check(found, manifests.file(generation).toString(), () -> read(manifests, generation));
            if (manifest != null) {
                for (ObjectRef ref : manifest.objects()) {
                    if (!looked.add(ref)) {
                        continue; // generations share them
                    }
                    check(found, "object " + ref.name(), () -> {
                        objects.verify(ref);
                        return ref;
                    });
                }
                String snapshotId = manifest.checkpoint().files().snapshotId();
                check(
                        found,
                        "snapshot " + snapshotId,
                        () -> SnapshotVerifier.verify(
                                objects, manifest.checkpoint().files(), snapshots.find(snapshotId)));
            }
            // A living owner may have dropped an old generation meanwhile.
            if (generation == committed || manifests.generations().contains(generation)) {
                found.forEach(onFinding);
            }
        }
    }

    /** A generation is compared with its commits; one that only void ones name has none. */
    private Manifest read(ManifestStore manifests, long generation) {
        Manifest manifest = manifests.read(generation);
        for (CommittedTurn turn : turns) {
            if (turn.commit().generation() == generation) {
                manifest = turn.commit().manifest(manifests);
            }
        }
        return manifest;
    }

    private static <T> @Nullable T check(List<Finding> found, String subject, Supplier<T> look) {
        try {
            T result = look.get();
            found.add(new Finding(subject, null));
            return result;
        } catch (CrabException e) {
            if (e.code() == ErrorCode.INTERRUPTED) {
                throw e;
            }
            found.add(new Finding(subject, e));
            return null;
        }
    }
}
