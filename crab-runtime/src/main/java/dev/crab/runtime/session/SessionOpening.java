package dev.crab.runtime.session;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.Revival.Alive;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.SessionRecords.Point;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.LostProcess;
import dev.crab.runtime.store.Manifest;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One opening of a session: everything that has to be checked is read and checked before anything of the dead predecessor is touched,
 * and if any step fails, whatever the ones before it made is taken away again.
 */
final class SessionOpening {
    private static final Logger LOG = LoggerFactory.getLogger(SessionOpening.class);

    private final SessionServices services;
    private final String id;
    private final String sandboxId;
    private final @Nullable SandboxSpec requested;
    private final boolean fresh;
    private final long startedNanos = System.nanoTime();

    private @Nullable Alive alive;

    /** @param fresh whether it was just made, so that nobody can have left anything of it */
    SessionOpening(SessionServices services, String id, @Nullable SandboxSpec requested, boolean fresh) {
        this.services = services;
        this.id = id;
        this.sandboxId = services.data().prepare().sandbox(id);
        this.requested = requested;
        this.fresh = fresh;
    }

    DurableSession open(SessionCircle circle) {
        if (requested != null && !Files.exists(services.data().session(id), LinkOption.NOFOLLOW_LINKS)) {
            services.factory().resolve(requested.image()); // before anything is made that would be left behind
        }
        CheckpointStore store = requested == null
                ? CheckpointStore.openExisting(services.data(), id)
                : CheckpointStore.open(services.data(), id);
        boolean done = false;
        try {
            Timeline recorded = timeline(store);
            Commit last = recorded.last();
            RestoreTargets targets = last == null || last.generation() == 0
                    ? null
                    : RestoreTargets.of(id, recorded, store.manifests(), services.onDamaged());
            if (targets != null) {
                checkImage(services, id, recorded.spec(), targets.newest().manifest());
            }

            FaultPoints.reach("open.read");
            if (!fresh) {
                SandboxSlots.sweep(services, sandboxId);
            }
            FaultPoints.reach("open.swept");
            Retention retention = new Retention(store, services.snapshots(), services.keepGenerations());
            if (fresh) {
                retention.counts(recorded, Set.of());
            } else {
                retention.sweepUncommitted(recorded);
            }

            FaultPoints.reach("open.clean");
            Opened opened = targets == null ? start(recorded) : restore(recorded, targets);
            if (!opened.skipped.isEmpty()) {
                recordRollback(store, retention, opened);
            }
            Alive sandbox = opened.alive;
            List<LostProcess> restarted = sandbox.takeUp(services, id, opened.timeline.attributes(), opened.manifest);
            FaultPoints.reach("open.ready");
            DurableSession session = new DurableSession(
                    services,
                    store,
                    retention,
                    sandbox,
                    recovery(store, opened, restarted),
                    opened.timeline,
                    opened.manifest,
                    circle);
            session.begin();
            done = true;
            return session;
        } finally {
            if (!done) {
                takeBack(store);
            }
        }
    }

    private Timeline timeline(CheckpointStore store) {
        Timeline timeline = SessionRecords.timeline(id, store.journal().recovered());
        if (timeline != null) {
            if (requested != null && !requested.equals(timeline.spec())) {
                LOG.warn(
                        "session {} keeps the sandbox it was made with ({}); {} was asked for",
                        id,
                        timeline.spec(),
                        requested);
            }
            return timeline;
        }
        if (requested == null) {
            throw CheckpointStore.unknown(services.data(), id);
        }
        // Before the first record: an image that does not exist must not leave a session behind that can never be
        // opened.
        services.factory().resolve(requested.image());
        store.journal().append(SessionRecords.SESSION, SessionRecords.opening(id, requested));
        FaultPoints.reach("session.recorded");
        return new Timeline(requested, SessionRecords.toJson(requested), List.of(), 0);
    }

    /** Files of one image over another would be a mix that never existed. */
    static void checkImage(SessionServices services, String id, SandboxSpec spec, Manifest manifest) {
        Path image = services.factory().resolve(spec.image());
        if (!image.toString().equals(manifest.image())) {
            throw CrabException.of(
                    ErrorCode.IMAGE_INVALID,
                    "session " + id + " cannot be restored",
                    "its image is now " + image + ", and its files were changed on top of " + manifest.image(),
                    "bring the image back that the session was made with");
        }
    }

    /**
     * What the session begins with.
     *
     * @param timeline up to the turn that the sandbox is at
     * @param manifest of that turn; null for the image as it came
     * @param skipped why newer turns did not come back
     */
    private record Opened(Timeline timeline, @Nullable Manifest manifest, Alive alive, List<String> skipped) {}

    private Opened start(Timeline timeline) {
        Alive started = new Revival(services, id, sandboxId).start(timeline.spec());
        alive = started;
        return new Opened(timeline, null, started, List.of());
    }

    private Opened restore(Timeline timeline, RestoreTargets targets) {
        RestoreTargets.Restored<Alive> restored = targets.first(manifest -> new Revival(services, id, sandboxId)
                .park(timeline.spec(), manifest)
                .resume());
        Alive result = restored.result();
        Manifest manifest = restored.target().manifest();
        alive = result;
        LOG.info(
                "session {}: back at generation {} ({} processes, {} files verified)",
                id,
                manifest.generation(),
                result.processes(),
                result.filesVerified());
        Point point = restored.target().point();
        return new Opened(timeline.until(point), manifest, result, restored.skipped());
    }

    /** The turns that did not come back are void before anything happens in the sandbox, and only then is what is left of them removed. */
    private void recordRollback(CheckpointStore store, Retention retention, Opened opened) {
        FaultPoints.reach("rollback.before");
        Commit to = Objects.requireNonNull(opened.timeline.last());
        store.journal()
                .append(
                        SessionRecords.ROLLBACK,
                        SessionRecords.rollback(to, opened.skipped, System.currentTimeMillis()));
        FaultPoints.reach("rollback.recorded");
        LOG.warn(
                "session {}: turns after turn {} are LOST, because their checkpoints are damaged: {}",
                id,
                to.turn(),
                opened.skipped);
        retention.sweepUncommitted(opened.timeline);
    }

    private Recovery recovery(CheckpointStore store, Opened opened, List<LostProcess> restarted) {
        List<String> skipped = new ArrayList<>(opened.skipped);
        // Whoever was told so and has not committed a turn since may be gone, with all that he made of it.
        skipped.addAll(SessionRecords.lastReasons(store.journal().recovered()));
        return recovery(id, opened.timeline.last(), opened.manifest, opened.alive, restarted, skipped, startedNanos);
    }

    /**
     * What is to be told of a sandbox that runs again.
     *
     * @param last the turn that it is at; null for the image as it came
     * @param skipped why newer turns did not come back
     */
    static Recovery recovery(
            String id,
            @Nullable Commit last,
            @Nullable Manifest manifest,
            Alive alive,
            List<LostProcess> restarted,
            List<String> skipped,
            long startedNanos) {
        if (last == null) {
            return new Recovery.Fresh();
        }
        List<String> lost = manifest == null ? List.of() : manifest.lost();
        if (!lost.isEmpty()) {
            LOG.warn("session {}: not restored, because it could not be captured: {}", id, lost);
        }
        long millis = (System.nanoTime() - startedNanos) / 1_000_000;
        List<String> again = restarted.stream().map(LostProcess::describe).toList();
        return new Recovery.Restored(last, alive.processes(), millis, alive.verifyNanos(), lost, again, skipped);
    }

    /** Behind a failure; must not hide it. */
    private void takeBack(CheckpointStore store) {
        Alive started = alive;
        Quietly.all(id, started == null ? () -> {} : () -> started.end(services), store::close);
    }
}
