package dev.crab.runtime.session;

import dev.crab.runtime.engine.LostProcesses;
import dev.crab.runtime.engine.RestoreHook;
import dev.crab.runtime.engine.RestoreResult;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.inspector.InspectionTarget;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxProcesses;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.SessionRecords.Point;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.snapshot.Volume;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.JournalRecord;
import dev.crab.runtime.store.LostProcess;
import dev.crab.runtime.store.Manifest;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.function.Consumer;
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
    private final long startedNanos = System.nanoTime();

    private @Nullable RunningSandbox running;
    private TurnInspector.@Nullable Watch watch;

    SessionOpening(SessionServices services, String id, @Nullable SandboxSpec requested) {
        this.services = services;
        this.id = id;
        this.sandboxId = services.data().prepare().sandbox(id);
        this.requested = requested;
    }

    DurableSession open(ExecutorService housekeeping, Consumer<DurableSession> onClose) {
        CheckpointStore store = requested == null
                ? CheckpointStore.openExisting(services.data(), id)
                : CheckpointStore.open(services.data(), id);
        boolean done = false;
        try {
            DurableSession session = new DurableSession(
                    services, store, begin(store, timeline(store), services.onDamaged()), housekeeping, onClose);
            done = true;
            return session;
        } finally {
            if (!done) {
                takeBack(store::close);
            }
        }
    }

    /**
     * Brings the sandbox of a parked session back, under the lock that is held already. To the last commit or not at all: those who go on
     * from there know of no other.
     *
     * @throws CrabException what reading the store and restoring can throw; then the session is parked as before
     */
    static Begun wake(SessionServices services, CheckpointStore store) {
        SessionOpening opening = new SessionOpening(services, store.session(), null);
        boolean done = false;
        try {
            List<JournalRecord> records = FileJournal.read(services.data().session(store.session()));
            Begun begun = opening.begin(
                    store,
                    new Recorded(Objects.requireNonNull(SessionRecords.timeline(store.session(), records)), records),
                    DamagePolicy.REFUSE);
            done = true;
            return begun;
        } finally {
            if (!done) {
                opening.takeBack(() -> {});
            }
        }
    }

    /** What the journal says, read and whole. */
    private record Recorded(Timeline timeline, List<JournalRecord> records) {}

    /** A sandbox that runs, in the state of the newest commit that could be brought back. */
    record Begun(
            Retention retention,
            RunningSandbox sandbox,
            TurnInspector.Watch watch,
            Recovery recovery,
            Timeline timeline,
            @Nullable Manifest manifest) {}

    private Begun begin(CheckpointStore store, Recorded recorded, DamagePolicy onDamaged) {
        Commit last = recorded.timeline().last();
        RestoreTargets targets = last == null || last.generation() == 0
                ? null
                : RestoreTargets.of(id, recorded.timeline(), store.manifests(), onDamaged);
        if (targets != null) {
            checkImage(recorded.timeline().spec(), targets.newest().manifest());
        }

        FaultPoints.reach("open.read");
        services.factory().sweep(sandboxId);
        FaultPoints.reach("open.swept");
        services.snapshots().recover();
        // Only its name counts; where it lies is the snapshotter's affair.
        services.snapshots().delete(new Volume(sandboxId, Path.of("")));
        Retention retention = new Retention(store, services.snapshots(), services.keepGenerations());
        retention.sweepUncommitted(last == null ? 0 : last.generation());

        FaultPoints.reach("open.clean");
        Opened opened = targets == null ? start(recorded.timeline()) : restore(recorded.timeline(), targets);
        if (!opened.skipped.isEmpty()) {
            recordRollback(store, retention, opened);
        }
        RunningSandbox sandbox = running();
        // Whoever uses the sandbox between turns is watched as well: what a process does that begins and ends there
        // is seen only while calls are.
        TurnInspector.Watch watching = watch();
        sandbox.beforeRequests(watching::begin);
        sandbox.attributes().putAll(opened.timeline.attributes());
        List<LostProcess> restarted = restartLost(sandbox, opened.manifest);
        services.engine().attach(sandbox);
        FaultPoints.reach("open.ready");
        return new Begun(
                retention,
                sandbox,
                watching,
                recovery(recorded.records(), opened, restarted),
                opened.timeline,
                opened.manifest);
    }

    private Recorded timeline(CheckpointStore store) {
        List<JournalRecord> records = store.journal().recovered();
        Timeline timeline = SessionRecords.timeline(id, records);
        if (timeline != null) {
            if (requested != null && !requested.equals(timeline.spec())) {
                LOG.warn(
                        "session {} keeps the sandbox it was made with ({}); {} was asked for",
                        id,
                        timeline.spec(),
                        requested);
            }
            return new Recorded(timeline, records);
        }
        if (requested == null) {
            throw CheckpointStore.unknown(services.data(), id);
        }
        // Before the first record: an image that does not exist must not leave a session behind that can never be
        // opened.
        services.factory().resolve(requested.image());
        store.journal().append(SessionRecords.SESSION, SessionRecords.opening(id, requested));
        FaultPoints.reach("session.recorded");
        return new Recorded(new Timeline(requested, SessionRecords.toJson(requested), List.of(), 0), records);
    }

    /** Files of one image over another would be a mix that never existed. */
    private void checkImage(SandboxSpec spec, Manifest manifest) {
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
     * @param processes how many came back from a dump
     * @param verifyNanos how long it took to compare it with what was saved
     * @param skipped why newer turns did not come back
     */
    private record Opened(
            Timeline timeline, @Nullable Manifest manifest, int processes, long verifyNanos, List<String> skipped) {}

    private Opened start(Timeline timeline) {
        Volume volume = services.snapshots().createVolume(sandboxId);
        SandboxFactory.Place place = services.factory().prepare(sandboxId, timeline.spec(), volume);
        boolean started = false;
        try (Observation observation = new Observation()) {
            observation.placed(place.cgroup());
            running = place.start();
            started = true;
            observation.beforeResume(running().processes());
        } finally {
            if (!started) {
                place.close();
            }
        }
        return new Opened(timeline, null, 0, 0, List.of());
    }

    private Opened restore(Timeline timeline, RestoreTargets targets) {
        RestoreTargets.Restored<RestoreResult> restored = targets.first(manifest -> restore(timeline.spec(), manifest));
        RestoreResult result = restored.result();
        Manifest manifest = restored.target().manifest();
        running = result.sandbox();
        LOG.info(
                "session {}: back at generation {} ({} processes, {} files verified)",
                id,
                manifest.generation(),
                result.processesRestored(),
                result.filesVerified());
        Point point = restored.target().point();
        return new Opened(
                timeline.until(point), manifest, result.processesRestored(), result.verifyNanos(), restored.skipped());
    }

    private RestoreResult restore(SandboxSpec spec, Manifest manifest) {
        boolean restored = false;
        try (Observation observation = new Observation()) {
            RestoreResult result = services.engine().restore(sandboxId, spec, manifest.checkpoint(), observation);
            restored = true;
            return result;
        } finally {
            TurnInspector.Watch opened = watch;
            if (!restored && opened != null) {
                watch = null;
                Quietly.all(id, opened::close);
            }
        }
    }

    /** The watch of a sandbox that comes to be. */
    private final class Observation implements RestoreHook, AutoCloseable {
        private TurnInspector.@Nullable Expected expected;

        @Override
        public void placed(Path cgroup) {
            expected = services.inspector().expect(cgroup);
        }

        @Override
        public void beforeResume(SandboxProcesses processes) {
            watch = Objects.requireNonNull(expected).watch(target(processes));
        }

        @Override
        public void close() {
            if (expected != null) {
                expected.close();
            }
        }
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
        retention.sweepUncommitted(to.generation());
    }

    private InspectionTarget target(SandboxProcesses processes) {
        return new InspectionTarget(
                sandboxId,
                processes.cgroup(),
                processes.initPid(),
                processes.volume().upper(),
                processes.lower(),
                processes.volume().scratch());
    }

    private List<LostProcess> restartLost(RunningSandbox sandbox, @Nullable Manifest manifest) {
        return manifest == null || services.onLost() == LostPolicy.REPORT
                ? List.of()
                : LostProcesses.restart(id, sandbox, manifest.lostProcesses());
    }

    private Recovery recovery(List<JournalRecord> records, Opened opened, List<LostProcess> restarted) {
        Commit last = opened.timeline.last();
        if (last == null) {
            return new Recovery.Fresh();
        }
        Manifest manifest = opened.manifest;
        List<String> lost = manifest == null ? List.of() : manifest.lost();
        if (!lost.isEmpty()) {
            LOG.warn("session {}: not restored, because it could not be captured: {}", id, lost);
        }
        long millis = (System.nanoTime() - startedNanos) / 1_000_000;
        List<String> again = restarted.stream().map(LostProcess::describe).toList();
        // Whoever was told so and has not committed a turn since may be gone, with all that he made of it.
        List<String> skipped = new ArrayList<>(opened.skipped);
        skipped.addAll(SessionRecords.lastReasons(records));
        return new Recovery.Restored(last, opened.processes, millis, opened.verifyNanos, lost, again, skipped);
    }

    private RunningSandbox running() {
        if (running == null) {
            throw new IllegalStateException("no sandbox");
        }
        return running;
    }

    private TurnInspector.Watch watch() {
        if (watch == null) {
            throw CrabException.of(
                    ErrorCode.INTERNAL,
                    "session " + id + " cannot be opened",
                    "the restore did not say when to watch",
                    "report this as a fault of Crab");
        }
        return watch;
    }

    /** Behind a failure; must not hide it. */
    private void takeBack(Runnable last) {
        TurnInspector.Watch opened = watch;
        RunningSandbox started = running;
        Quietly.all(
                id,
                opened == null ? () -> {} : opened::close,
                () -> services.engine().detach(sandboxId),
                started == null ? () -> {} : started::close,
                () -> services.snapshots().delete(new Volume(sandboxId, Path.of(""))),
                last);
    }
}
