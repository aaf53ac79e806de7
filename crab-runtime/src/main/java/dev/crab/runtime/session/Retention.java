package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.Names;
import dev.crab.runtime.store.ObjectRef;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides what of a session stays in the store: the newest few of the generations that turns count by, and those of turns with a label. What
 * is deleted is always named after the session, so that others can be alive beside it; and a manifest always goes before what it needs.
 * Thread-safe: what is to be kept is asked when something is deleted, and not when that was wished.
 */
final class Retention {
    private static final Logger LOG = LoggerFactory.getLogger(Retention.class);

    private final CheckpointStore store;
    private final Snapshotter snapshots;
    private final int keep;

    /** Set without waiting for a deletion: a commit only adds to it, and whoever takes something away has a {@link Hold}. */
    private volatile Keeping keeping = new Keeping(Set.of(), Set.of(), 0);

    // Guarded by this, which is held while something is deleted.
    private int holds;
    private boolean due;

    Retention(CheckpointStore store, Snapshotter snapshots, int keep) {
        this.store = store;
        this.snapshots = snapshots;
        this.keep = keep;
    }

    /** From now on these are the turns that count, and the labels that they have. */
    void counts(Timeline timeline, Set<Long> labelled) {
        Commit last = timeline.last();
        keeping = new Keeping(
                timeline.generations(), timeline.generations(labelled), last == null ? 0 : last.generation());
    }

    /**
     * What is to be kept.
     *
     * @param counting generations that turns count by
     * @param pinned those of them that stay in any case
     * @param newest of them; 0 if there is none
     */
    private record Keeping(Set<Long> counting, Set<Long> pinned, long newest) {}

    /** Keeps {@link #dropOld} from deleting what counts until it is closed; waits for one that is at it. */
    interface Hold extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * See {@link Hold}.
     *
     * @param whenDue runs when it is closed, if something was to be deleted meanwhile and was not
     */
    synchronized Hold hold(Runnable whenDue) {
        holds++;
        return () -> {
            if (release()) {
                whenDue.run();
            }
        };
    }

    private synchronized boolean release() {
        boolean last = --holds == 0 && due;
        due &= !last;
        return last;
    }

    /**
     * Removes everything that no turn needs which counts: what a crash left of turns that never committed, and of those that a rollback made
     * void. Only while nothing of this session is being captured. Where an older manifest cannot be read, it cannot be told what that one
     * needs: then only that goes whose name says that it came after every committed generation, which nothing of those can need.
     */
    synchronized void sweepUncommitted(Timeline timeline) {
        counts(timeline, Set.of());
        long committed = keeping.newest();
        List<String> deleted = new ArrayList<>();
        List<Manifest> kept = committed();
        if (kept == null) {
            deleted.addAll(deleteByName(generation -> generation > committed, Needed.of(List.of())));
        } else {
            deleted.addAll(store.retain(kept));
            Needed needed = Needed.of(kept);
            for (String id : snapshots.snapshots()) {
                if (id.startsWith(Names.prefix(store.session())) && !needed.snapshots.contains(id)) {
                    delete(id);
                    FaultPoints.reach("sweep.snapshot");
                    deleted.add(id);
                }
            }
        }
        if (!deleted.isEmpty()) {
            LOG.info("session {}: removed what an uncommitted turn or a rollback left: {}", store.session(), deleted);
        }
    }

    /** Null if one of them cannot be read. */
    private @Nullable List<Manifest> committed() {
        List<Manifest> manifests = new ArrayList<>();
        Set<Long> counting = keeping.counting();
        for (long generation : store.manifests().generations()) {
            if (counting.contains(generation)) {
                try {
                    manifests.add(store.manifests().read(generation));
                } catch (CrabException e) {
                    LOG.warn("session {}: an older manifest cannot be read", store.session(), e);
                    return null;
                }
            }
        }
        return manifests;
    }

    /**
     * Removes the generations older than the newest few, those that no turn counts by any more, and what only they needed; nothing while there
     * is a {@link #hold}. Safe beside a capture, which never needs more than the newest generation. One whose manifest cannot be read goes
     * like the others: then by names, everything older than the oldest that is kept and not needed by one of those.
     *
     * @throws CrabException if a manifest that is kept cannot be read: it cannot be told what it needs, so nothing is removed
     */
    synchronized void dropOld() {
        if (holds > 0) {
            due = true;
            return;
        }
        Keeping keeps = keeping;
        List<Long> generations = store.manifests().generations().stream()
                .filter(generation -> generation <= keeps.newest())
                .toList();
        List<Long> kept = kept(generations, keeps.counting(), keep, keeps.pinned());
        if (generations.size() == kept.size()) {
            return;
        }
        Needed needed = Needed.of(kept.stream().map(store.manifests()::read).toList());
        boolean byName = false;
        for (long generation : generations) {
            if (kept.contains(generation)) {
                continue;
            }
            Manifest manifest = null;
            try {
                manifest = store.manifests().read(generation);
            } catch (CrabException e) {
                LOG.warn("session {}: an old generation is removed by its names", store.session(), e);
                byName = true;
            }
            FaultPoints.reach("retention.begin");
            store.manifests().delete(generation);
            FaultPoints.reach("retention.manifest");
            if (manifest != null) {
                forget(manifest, needed);
            }
        }
        if (byName) {
            long oldest = kept.get(Math.max(0, kept.size() - keep));
            deleteByName(generation -> generation < oldest && !keeps.pinned().contains(generation), needed);
        }
    }

    /** Those of the generations that stay: the newest few of those that count, and the pinned ones. */
    static List<Long> kept(List<Long> generations, Set<Long> counting, int keep, Set<Long> pinned) {
        List<Long> candidates = generations.stream().filter(counting::contains).toList();
        int from = Math.max(0, candidates.size() - keep);
        List<Long> kept = new ArrayList<>();
        for (int i = 0; i < candidates.size(); i++) {
            if (i >= from || pinned.contains(candidates.get(i))) {
                kept.add(candidates.get(i));
            }
        }
        return kept;
    }

    /**
     * Removes the generations that a rollback has made void. Safe beside a capture: what comes after the rollback has higher numbers and
     * needs nothing of them.
     *
     * @param committed the generation that the session is back at
     * @param highest the highest number that was used by then
     * @throws CrabException if a manifest that is kept cannot be read: it cannot be told what it needs, so nothing is removed
     */
    synchronized void dropVoid(long committed, long highest) {
        Set<Long> counting = keeping.counting();
        List<Manifest> kept = store.manifests().generations().stream()
                .filter(counting::contains)
                .map(store.manifests()::read)
                .toList();
        List<String> deleted = deleteByName(
                generation -> generation > committed && generation <= highest && !counting.contains(generation),
                Needed.of(kept));
        LOG.debug("session {}: removed what a rollback made void: {}", store.session(), deleted);
    }

    /**
     * What manifests need.
     *
     * @param objects names
     * @param snapshots names
     */
    private record Needed(Set<String> objects, Set<String> snapshots) {
        static Needed of(List<Manifest> manifests) {
            Needed needed = new Needed(new HashSet<>(), new HashSet<>());
            for (Manifest manifest : manifests) {
                manifest.objects().forEach(ref -> needed.objects.add(ref.name()));
                needed.snapshots.add(manifest.checkpoint().files().snapshotId());
            }
            return needed;
        }
    }

    /** Deletes whatever is named after one of those generations and is not needed, manifests first; gives what it deleted. */
    private List<String> deleteByName(LongPredicate generations, Needed needed) {
        List<String> deleted = new ArrayList<>();
        for (long generation : store.manifests().generations()) {
            if (generations.test(generation)) {
                store.manifests().delete(generation);
                FaultPoints.reach("sweep.manifest");
            }
        }
        for (String name : store.objects().list(Names.prefix(store.session()))) {
            if (isOf(generations, name) && !needed.objects.contains(name)) {
                store.objects().delete(name);
                FaultPoints.reach("sweep.object");
                deleted.add(name);
            }
        }
        for (String id : snapshots.snapshots()) {
            if (isOf(generations, id) && !needed.snapshots.contains(id)) {
                delete(id);
                FaultPoints.reach("sweep.snapshot");
                deleted.add(id);
            }
        }
        return deleted;
    }

    private boolean isOf(LongPredicate generations, String name) {
        OptionalLong generation = Names.generation(store.session(), name);
        return generation.isPresent() && generations.test(generation.getAsLong());
    }

    /** Removes a manifest that was not committed after all, with what was written for it. */
    void takeBack(Manifest manifest) {
        store.manifests().delete(manifest.generation());
        forgetObjects(manifest.generation());
        FileImage files = manifest.checkpoint().files();
        if (files.generation() == manifest.generation()) {
            delete(files.snapshotId());
        }
    }

    /** Removes the objects that were written for a generation that did not come to be. */
    void forgetObjects(long generation) {
        String own = Names.checkpoint(store.session(), generation);
        for (String name : store.objects().list(own)) {
            if (name.equals(own) || name.startsWith(own + ".")) {
                store.objects().delete(name);
            }
        }
    }

    private void forget(Manifest manifest, Needed needed) {
        for (ObjectRef ref : manifest.objects()) {
            if (!needed.objects.contains(ref.name())) {
                store.objects().delete(ref.name());
                FaultPoints.reach("retention.object");
            }
        }
        FileImage files = manifest.checkpoint().files();
        if (!needed.snapshots.contains(files.snapshotId())) {
            delete(files.snapshotId());
            FaultPoints.reach("retention.snapshot");
        }
    }

    private void delete(String snapshotId) {
        // Only its name counts: a damaged one goes, too.
        snapshots.delete(new Snapshot(snapshotId, Path.of("")));
    }
}
