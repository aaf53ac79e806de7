package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.fault.FaultPoints;
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
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides what of a session stays in the store. What is deleted is always named after the session, so that others can be alive beside
 * it; and a manifest always goes before what it needs.
 */
final class Retention {
    private static final Logger LOG = LoggerFactory.getLogger(Retention.class);

    private final CheckpointStore store;
    private final Snapshotter snapshots;
    private final int keep;

    Retention(CheckpointStore store, Snapshotter snapshots, int keep) {
        this.store = store;
        this.snapshots = snapshots;
        this.keep = keep;
    }

    /**
     * Removes everything that no committed generation needs: what a crash left of turns that never committed. Only while nothing of this
     * session is being captured. Where an older manifest cannot be read, nothing is deleted at all, because it cannot be told what that
     * one needs.
     *
     * @param committed the newest committed generation; 0 if there is none
     */
    void sweepUncommitted(long committed) {
        List<Manifest> kept = new ArrayList<>();
        for (long generation : store.manifests().generations()) {
            if (generation <= committed) {
                try {
                    kept.add(store.manifests().read(generation));
                } catch (CrabException e) {
                    LOG.warn(
                            "session {}: nothing that crashes left behind is deleted, because an older manifest cannot be read",
                            store.session(),
                            e);
                    return;
                }
            }
        }
        List<String> deleted = new ArrayList<>(store.retain(kept));
        Set<String> needed = new HashSet<>();
        kept.forEach(manifest -> needed.add(manifest.checkpoint().files().snapshotId()));
        for (String id : snapshots.snapshots()) {
            if (id.startsWith(Names.prefix(store.session())) && !needed.contains(id)) {
                delete(id);
                FaultPoints.reach("sweep.snapshot");
                deleted.add(id);
            }
        }
        if (!deleted.isEmpty()) {
            LOG.info("session {}: removed what an uncommitted turn left: {}", store.session(), deleted);
        }
    }

    /**
     * Removes the generations older than the newest few, and what only they needed. Safe beside a capture, which never needs more than the
     * newest generation.
     *
     * @param committed the newest committed generation
     */
    void dropOld(long committed) {
        List<Long> generations = store.manifests().generations().stream()
                .filter(generation -> generation <= committed)
                .toList();
        if (generations.size() <= keep) {
            return;
        }
        List<Long> old = generations.subList(0, generations.size() - keep);
        Set<String> neededObjects = new HashSet<>();
        Set<String> neededSnapshots = new HashSet<>();
        for (long generation : generations.subList(generations.size() - keep, generations.size())) {
            Manifest manifest = store.manifests().read(generation);
            manifest.objects().forEach(ref -> neededObjects.add(ref.name()));
            neededSnapshots.add(manifest.checkpoint().files().snapshotId());
        }
        for (long generation : old) {
            Manifest manifest = store.manifests().read(generation);
            FaultPoints.reach("retention.begin");
            store.manifests().delete(generation);
            FaultPoints.reach("retention.manifest");
            forget(manifest, neededObjects, neededSnapshots);
        }
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

    private void forget(Manifest manifest, Set<String> neededObjects, Set<String> neededSnapshots) {
        for (ObjectRef ref : manifest.objects()) {
            if (!neededObjects.contains(ref.name())) {
                store.objects().delete(ref.name());
                FaultPoints.reach("retention.object");
            }
        }
        FileImage files = manifest.checkpoint().files();
        if (!neededSnapshots.contains(files.snapshotId())) {
            delete(files.snapshotId());
            FaultPoints.reach("retention.snapshot");
        }
    }

    private void delete(String snapshotId) {
        // Only its name counts: a damaged one goes, too.
        snapshots.delete(new Snapshot(snapshotId, Path.of("")));
    }
}
