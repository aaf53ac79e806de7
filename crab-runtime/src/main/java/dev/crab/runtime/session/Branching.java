package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.SessionRecords.Point;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.store.BranchStore;
import dev.crab.runtime.store.CheckpointImage;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.JournalRecord;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.Names;
import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.ProcessImage;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * Makes sessions that begin where another one was at a turn. What is stored of that turn is taken over under the new session's name:
 * objects by links, the snapshot by a snapshot; numbers of generations and of records stay the same, so that what refers to them holds. The caller holds the lock
 * of the session that is branched, and nothing of it is deleted meanwhile.
 */
final class Branching {
    private final SessionServices services;
    private final DataDirectory data;
    private final String parent;
    private final TurnTarget target;
    private final List<JournalRecord> records;

    /** @param records everything in the parent's journal */
    Branching(SessionServices services, String parent, TurnTarget target, List<JournalRecord> records) {
        this.services = services;
        this.data = services.data();
        this.parent = parent;
        this.target = target;
        this.records = until(records, target);
    }

    /**
     * Names for new sessions that nobody uses: {@code <parent>-b1} and so on.
     *
     * @throws CrabException NAME_INVALID if the parent's name is too long for that
     */
    static List<String> freeNames(DataDirectory data, String parent, int count) {
        requireSome(parent, count);
        Set<String> taken = new HashSet<>(data.sessions());
        List<String> names = new ArrayList<>();
        for (int i = 1; names.size() < count; i++) {
            String name = Names.session(parent + "-b" + i);
            if (!taken.contains(name)) {
                names.add(name);
            }
        }
        return names;
    }

    private static void requireSome(String parent, int count) {
        if (count < 1) {
            throw CrabException.of(
                    ErrorCode.NAME_INVALID,
                    "session " + parent + " cannot be branched",
                    count + " branches were asked for",
                    "ask for one at least");
        }
    }

    /**
     * Makes them; all or, where that fails, none.
     *
     * @throws CrabException NAME_INVALID; NAME_TAKEN; OBJECT_CORRUPT, SNAPSHOT_MISSING; DISK_FULL, IO_FAILED
     */
    void make(List<String> names) {
        requireSome(parent, names.size());
        if (new HashSet<>(names).size() != names.size()) {
            throw CrabException.of(
                    ErrorCode.NAME_TAKEN,
                    "session " + parent + " cannot be branched",
                    "two of the new sessions have the same name",
                    "give each a name of its own");
        }
        Queue<String> made = new ConcurrentLinkedQueue<>();
        boolean done = false;
        try {
            SideBySide.all(names.stream()
                    .<Callable<Boolean>>map(name -> () -> {
                        make(name);
                        return made.add(name);
                    })
                    .toList());
            done = true;
        } finally {
            if (!done) {
                made.forEach(name -> Quietly.all(name, () -> SessionRemoval.remove(services, name)));
            }
        }
    }

    private void make(String name) {
        Manifest manifest = target.manifest();
        try (BranchStore branch = BranchStore.begin(data, name)) {
            boolean done = false;
            try {
                if (branch.isAgain()) {
                    deleteSnapshots(name);
                }
                if (manifest != null) {
                    branch.manifest(take(branch, manifest, name));
                }
                branch.complete(journal(name));
                done = true;
            } finally {
                if (!done) {
                    Quietly.all(name, () -> deleteSnapshots(name));
                }
            }
        }
    }

    private void deleteSnapshots(String name) {
        services.snapshots().snapshots().stream()
                .filter(id -> id.startsWith(Names.prefix(name)))
                // Only its name counts; where it lies is the snapshotter's affair.
                .forEach(id -> services.snapshots().delete(new Snapshot(id, Path.of(""))));
    }

    /** What the turn needs, under the new name. */
    private Manifest take(BranchStore branch, Manifest manifest, String name) {
        FileImage files = manifest.checkpoint().files();
        ProcessImage processes = manifest.checkpoint().processes();
        ProcessImage taken = processes == null ? null : take(branch, processes, name);
        FileImage filesTaken = new FileImage(
                files.generation(),
                renamed(files.snapshotId(), name),
                take(branch, files.fileTable(), name),
                files.bases().stream().map(base -> take(branch, base, name)).toList(),
                files.entries());
        FaultPoints.reach("branch.linked");
        Snapshot snapshot =
                services.snapshots().copy(services.snapshots().find(files.snapshotId()), filesTaken.snapshotId());
        services.snapshots().makeDurable(snapshot);
        FaultPoints.reach("branch.snapshot");
        return new Manifest(
                name,
                manifest.generation(),
                manifest.parent(),
                manifest.turn(),
                manifest.createdMillis(),
                manifest.effect(),
                manifest.reasons(),
                SessionRecords.branchSpec(manifest.spec(), name),
                manifest.image(),
                new CheckpointImage(taken, filesTaken),
                manifest.attributes(),
                manifest.lost(),
                manifest.lostProcesses());
    }

    private ProcessImage take(BranchStore branch, ProcessImage processes, String name) {
        return new ProcessImage(
                processes.generation(),
                take(branch, processes.dump(), name),
                processes.bases().stream().map(base -> take(branch, base, name)).toList(),
                processes.processes(),
                processes.sample(),
                processes.criuVersion(),
                processes.kernel(),
                processes.fingerprint());
    }

    private ObjectRef take(BranchStore branch, ObjectRef ref, String name) {
        return branch.take(ref, renamed(ref.name(), name));
    }

    private String renamed(String known, String name) {
        return Names.prefix(name) + known.substring(Names.prefix(parent).length());
    }

    private List<JournalRecord> journal(String name) {
        List<JournalRecord> journal = new ArrayList<>(records);
        JournalRecord opening = journal.get(0);
        journal.set(
                0,
                new JournalRecord(
                        opening.sequence(),
                        opening.kind(),
                        SessionRecords.branch(opening, name, parent, target.turn())));
        // What had begun by the time of the commit's record is not part of the turn.
        journal.add(new JournalRecord(
                journal.size(),
                SessionRecords.ROLLBACK,
                SessionRecords.asked(target.turn(), target.generation(), "", System.currentTimeMillis())));
        return journal;
    }

    /** The parent's records up to what made another turn than that one the newest. */
    private static List<JournalRecord> until(List<JournalRecord> records, TurnTarget target) {
        Point point = target.point();
        long sequence = point == null
                ? 0
                : SessionRecords.commitOf(records, target.turn()).sequence();
        int end = (int) sequence + 1;
        while (end < records.size() && !moves(records.get(end))) {
            end++;
        }
        return List.copyOf(records.subList(0, end));
    }

    private static boolean moves(JournalRecord entry) {
        return entry.kind().equals(SessionRecords.COMMIT) || entry.kind().equals(SessionRecords.ROLLBACK);
    }

    /** Where a session that was branched came from; null if it was not. */
    static SessionArchive.@Nullable Origin origin(List<JournalRecord> records) {
        return records.isEmpty() || !records.get(0).body().has("branch")
                ? null
                : new SessionArchive.Origin(
                        records.get(0).body().path("branch").path("session").asText(),
                        records.get(0).body().path("branch").path("turn").asLong());
    }
}
