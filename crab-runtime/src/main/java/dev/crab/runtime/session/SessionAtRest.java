package dev.crab.runtime.session;

import dev.crab.runtime.engine.SnapshotVerifier;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.FileObjectStore;
import dev.crab.runtime.store.JournalRecord;
import dev.crab.runtime.store.Manifest;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What is done with a session that nobody has open, without bringing its sandbox back. */
final class SessionAtRest {
    private SessionAtRest() {}

    /**
     * Makes a turn the newest one: the next opening brings it back. What it needs is checked first, for what comes after it is gone then.
     *
     * @throws CrabException SESSION_UNKNOWN, SESSION_LOCKED, TURN_UNKNOWN, TURN_NOT_KEPT; what the checks find; DISK_FULL, IO_FAILED
     */
    static Rollback rollback(SessionServices services, String id, long turn, String note) {
        long asked = System.nanoTime();
        try (CheckpointStore store = CheckpointStore.openExisting(services.data(), id)) {
            List<JournalRecord> records = store.journal().recovered();
            Timeline timeline = timeline(services.data(), id, records);
            TurnTarget target = TurnTarget.of(id, timeline, store.manifests(), turn);
            long verifying = System.nanoTime();
            Manifest manifest = target.manifest();
            if (manifest != null) {
                verify(services, store.objects(), manifest);
            }
            long verified = System.nanoTime();
            SandboxSlots.sweep(services, services.data().sandbox(id));
            FaultPoints.reach("rollback.before");
            store.journal()
                    .append(
                            SessionRecords.ROLLBACK,
                            SessionRecords.asked(target.turn(), target.generation(), note, System.currentTimeMillis()));
            FaultPoints.reach("rollback.recorded");
            new Retention(store, services.snapshots(), services.keepGenerations())
                    .sweepUncommitted(timeline.until(target.turn()));
            return new Rollback(
                    target.turn(),
                    target.point() == null ? null : target.point().commit(),
                    timeline.points().size() - target.turn(),
                    0,
                    false,
                    verified - verifying,
                    System.nanoTime() - asked);
        }
    }

    private static void verify(SessionServices services, FileObjectStore objects, Manifest manifest) {
        manifest.objects().forEach(objects::verify);
        FileImage files = manifest.checkpoint().files();
        SnapshotVerifier.verify(objects, files, services.snapshots().find(files.snapshotId()));
    }

    /**
     * Makes sessions that begin where one was at a turn.
     *
     * @throws CrabException SESSION_UNKNOWN, SESSION_LOCKED, TURN_UNKNOWN, TURN_NOT_KEPT, NAME_INVALID, NAME_TAKEN, DISK_FULL, IO_FAILED
     */
    static void branch(SessionServices services, String id, long turn, List<String> names) {
        try (CheckpointStore store = CheckpointStore.openExisting(services.data(), id)) {
            List<JournalRecord> records = store.journal().recovered();
            TurnTarget target = TurnTarget.of(id, timeline(services.data(), id, records), store.manifests(), turn);
            new Branching(services, id, target, records).make(names);
        }
    }

    /**
     * Gives a turn a label, or takes it away (null).
     *
     * @throws CrabException SESSION_UNKNOWN, SESSION_LOCKED, TURN_UNKNOWN, TURN_NOT_KEPT, NAME_INVALID, DISK_FULL, IO_FAILED
     */
    static void label(DataDirectory data, String id, long turn, @Nullable String label) {
        try (CheckpointStore store = CheckpointStore.openExisting(data, id)) {
            Labels.give(store, timeline(data, id, store.journal().recovered()), turn, label);
        }
    }

    /**
     * Compares two turns; needs no lock.
     *
     * @throws CrabException SESSION_UNKNOWN, TURN_UNKNOWN, TURN_NOT_KEPT, JOURNAL_CORRUPT, MANIFEST_CORRUPT, OBJECT_CORRUPT, IO_FAILED
     */
    static TurnDiff diff(DataDirectory data, String id, long from, long to) {
        requireThere(data, id);
        Timeline timeline = timeline(data, id, FileJournal.read(data.session(id)));
        return TurnDiffs.between(
                new FileObjectStore(data),
                TurnTarget.of(id, timeline, CheckpointStore.manifests(data, id), from),
                TurnTarget.of(id, timeline, CheckpointStore.manifests(data, id), to));
    }

    static void requireThere(DataDirectory data, String id) {
        if (!Files.isDirectory(data.session(id), LinkOption.NOFOLLOW_LINKS)) {
            throw CheckpointStore.unknown(data, id);
        }
    }

    private static Timeline timeline(DataDirectory data, String id, List<JournalRecord> records) {
        Timeline timeline = SessionRecords.timeline(id, records);
        if (timeline == null) {
            throw CheckpointStore.unknown(data, id);
        }
        return timeline;
    }
}
