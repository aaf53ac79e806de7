package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.FileObjectStore;
import dev.crab.runtime.store.JournalRecord;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.ManifestStore;
import dev.crab.runtime.store.Names;
import dev.crab.runtime.store.StoreLock;
import dev.crab.runtime.store.Unneeded;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Frees what nobody needs any more, session by session: generations beyond those to keep, what turns that never committed have left, and
 * what a dead owner's sandbox still holds. Safe at any moment: it takes each session's lock, so that it never meets a capture or a
 * restore, and passes over a session that somebody has open, who looks after it himself.
 *
 * <p>Mark and sweep: what the kept manifests name stays. Where one of them cannot be read nothing of that session goes, because it cannot
 * be told what it needs.
 */
public final class GarbageCollector {
    /** What a thing is. */
    public enum Kind {
        /** The description of a checkpoint. */
        GENERATION,
        /** A dump, a link to one whose pages were used, or a file table. */
        OBJECT,
        /** A snapshot of files. */
        SNAPSHOT,
        /** What a dead owner left running, with its files as they are now. */
        SANDBOX,
        /** A chat from before there could be a sandbox, in place of which there is a session with one now. */
        CHAT,
        /** A session that never came to be: a branch, or a first opening, that was broken off. */
        SESSION
    }

    /**
     * Something that goes, or that would.
     *
     * @param session whose it is
     * @param bytes that are freed; 0 where the file system does not tell (snapshots share with each other)
     */
    public record Garbage(String session, Kind kind, String name, long bytes) {}

    /**
     * What was found.
     *
     * @param garbage what went, or would go
     * @param passedOver sessions that were left alone, each with the reason
     */
    public record Report(List<Garbage> garbage, List<PassedOver> passedOver) {
        public Report {
            garbage = List.copyOf(garbage);
            passedOver = List.copyOf(passedOver);
        }
    }

    /** A session that was left alone. */
    public record PassedOver(String session, CrabException reason) {}

    private final SessionServices services;
    private final DataDirectory data;
    private final FileObjectStore objects;
    private final boolean dryRun;
    private final List<Garbage> garbage = new ArrayList<>();

    private GarbageCollector(SessionServices services, boolean dryRun) {
        this.services = services;
        this.data = services.data();
        this.objects = new FileObjectStore(data);
        this.dryRun = dryRun;
    }

    /**
     * Collects in all sessions.
     *
     * @param dryRun only say what would go
     * @throws CrabException IO_FAILED where something cannot be deleted; what went before is gone
     */
    static Report collect(SessionServices services, boolean dryRun) {
        GarbageCollector collector = new GarbageCollector(services, dryRun);
        List<PassedOver> passedOver = new ArrayList<>();
        for (String session : services.data().sessions()) {
            CrabException reason = collector.collect(session);
            if (reason != null) {
                passedOver.add(new PassedOver(session, reason));
            }
        }
        for (String session : services.data().chats()) {
            try {
                collector.chat(session);
            } catch (CrabException e) {
                if (e.code() != ErrorCode.SESSION_LOCKED) {
                    throw e;
                }
                passedOver.add(new PassedOver(session, e));
            }
        }
        return new Report(collector.garbage, passedOver);
    }

    private void chat(String session) {
        if (!ChatArchive.isSuperseded(data, session)) {
            return;
        }
        long bytes = ChatArchive.bytes(data, session);
        if (!dryRun) {
            ChatArchive.remove(data, session);
        }
        add(session, Kind.CHAT, "chat", bytes);
    }

    private @Nullable CrabException collect(String session) {
        String sandbox = data.prepare().sandbox(session);
        StoreLock lock;
        List<Manifest> kept;
        try {
            lock = StoreLock.acquire(data.lock(session), session);
        } catch (CrabException e) {
            return e;
        }
        try (lock) {
            FaultPoints.reach("gc.locked");
            ManifestStore manifests = CheckpointStore.manifests(data, session);
            try {
                kept = kept(session, manifests);
            } catch (CrabException e) {
                return e;
            }
            objects(session, manifests, kept);
            snapshots(session, kept);
            sandbox(session, sandbox);
            if (kept.isEmpty() && FileJournal.read(data.session(session)).isEmpty()) {
                add(session, Kind.SESSION, session, 0);
                if (!dryRun) {
                    CheckpointStore.removeCommits(data, session);
                    CheckpointStore.removeDirectory(data, session);
                }
            }
        }
        return null;
    }

    private List<Manifest> kept(String session, ManifestStore manifests) {
        List<JournalRecord> records = FileJournal.read(data.session(session));
        Timeline timeline = SessionRecords.timeline(session, records);
        Commit last = timeline == null ? null : timeline.last();
        long committed = last == null ? 0 : last.generation();
        List<Long> candidates = manifests.generations().stream()
                .filter(generation -> generation <= committed)
                .toList();
        if (last != null && committed > 0) {
            last.manifest(manifests); // says why it cannot be
        }
        Set<Long> pinned = timeline == null
                ? Set.of()
                : timeline.generations(Labels.of(records).keySet());
        Set<Long> counting = timeline == null ? Set.of() : timeline.generations();
        return Retention.kept(candidates, counting, services.keepGenerations(), pinned).stream()
                .map(manifests::read)
                .toList();
    }

    private void objects(String session, ManifestStore manifests, List<Manifest> kept) {
        Unneeded unneeded = Unneeded.of(session, manifests, objects, kept);
        unneeded.manifests()
                .forEach(generation -> add(
                        session,
                        Kind.GENERATION,
                        Long.toString(generation),
                        manifests.file(generation).toFile().length()));
        unneeded.objects().forEach(name -> add(session, Kind.OBJECT, name, objects.bytesFreed(name)));
        if (!dryRun) {
            unneeded.delete(manifests, objects);
        }
    }

    private void snapshots(String session, List<Manifest> kept) {
        Set<String> needed = new HashSet<>();
        kept.forEach(manifest -> needed.add(manifest.checkpoint().files().snapshotId()));
        for (String id : services.snapshots().snapshots()) {
            if (id.startsWith(Names.prefix(session)) && !needed.contains(id)) {
                add(session, Kind.SNAPSHOT, id, 0);
                if (!dryRun) {
                    // Only its name counts; where it lies is the snapshotter's affair.
                    services.snapshots().delete(new Snapshot(id, Path.of("")));
                }
            }
        }
    }

    private void sandbox(String session, String sandbox) {
        List<String> volumes = services.snapshots().volumes();
        for (String name : SandboxSlots.of(services, sandbox)) {
            if (volumes.contains(name)) {
                add(session, Kind.SANDBOX, name, 0);
                if (!dryRun) {
                    services.factory().sweep(name);
                    SandboxSlots.delete(services, name);
                }
            }
        }
    }

    private void add(String session, Kind kind, String name, long bytes) {
        garbage.add(new Garbage(session, kind, name, bytes));
    }
}
