package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.engine.Captured;
import dev.crab.runtime.engine.CheckpointPlan;
import dev.crab.runtime.engine.FrozenHook;
import dev.crab.runtime.engine.LostProcesses;
import dev.crab.runtime.engine.Persisted;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.inspector.EffectReason;
import dev.crab.runtime.inspector.TurnEffects;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.session.SessionRecords.Details;
import dev.crab.runtime.session.SessionRecords.Point;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.CheckpointImage;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.LostProcess;
import dev.crab.runtime.store.Manifest;
import dev.crab.runtime.store.Names;
import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.ProcessImage;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The boundary of a turn: judge, capture, persist, manifest, commit record.
 *
 * <p>The inspector's baseline moves at the instant of the capture, long before it is known whether the commit succeeds. So what a failed
 * attempt had judged is remembered in {@link #carried} and counted in the next one; nothing that a turn did can fall between two
 * attempts.
 *
 * <p>Generation numbers are used up by attempts: a number stands for one snapshot and one set of objects, whether they came to be
 * committed or not.
 */
final class TurnCommitter {
    /** Bytes of JSON that a position may have: 64 KiB. */
    static final int POSITION_LIMIT = 64 << 10;

    private static final Logger LOG = LoggerFactory.getLogger(TurnCommitter.class);

    private final SessionServices services;
    private final CheckpointStore store;
    private final Retention retention;
    private final RunningSandbox sandbox;
    private final TurnInspector.Watch watch;
    private final Timeline begin;
    private final List<Point> points;

    private volatile @Nullable Commit last;

    // Used by one thread at a time: whoever holds the session's lock.
    private @Nullable CheckpointImage lastImage;
    private List<String> lastLost;
    private Map<String, String> lastAttributes;
    private long nextGeneration;
    private TurnEffects carried = TurnEffects.of(List.of());

    TurnCommitter(
            SessionServices services,
            CheckpointStore store,
            Retention retention,
            RunningSandbox sandbox,
            TurnInspector.Watch watch,
            Timeline timeline,
            @Nullable Manifest manifest) {
        this.services = services;
        this.store = store;
        this.retention = retention;
        this.sandbox = sandbox;
        this.watch = watch;
        this.begin = timeline;
        this.points = new ArrayList<>(timeline.points());
        this.last = timeline.last();
        this.lastImage = manifest == null ? null : manifest.checkpoint();
        this.lastLost = manifest == null ? List.of() : manifest.lost();
        this.lastAttributes = timeline.attributes();
        this.nextGeneration = timeline.highestGeneration() + 1;
    }

    @Nullable
    Commit lastCommit() {
        return last;
    }

    /** The turns that count by now. Numbers of generations that failed attempts have used up count as used. */
    Timeline timeline() {
        return new Timeline(begin.spec(), begin.specJson(), List.copyOf(points), nextGeneration - 1);
    }

    /** What one attempt has come to so far. */
    private final class Attempt {
        final long turn;
        final ObjectNode position;
        final Admission admission;
        final long boundaryNanos = System.nanoTime();
        final Map<String, String> attributes = Map.copyOf(sandbox.attributes());
        TurnEffects effects;
        List<String> lost = List.of();
        List<LostProcess> lostProcesses = List.of();
        long judgeNanos;
        long captureWait;
        boolean recorded;

        Attempt(long turn, ObjectNode position, TurnEffects effects, Admission admission) {
            this.turn = turn;
            this.position = position;
            this.effects = effects;
            this.admission = admission;
        }
    }

    TurnOutcome commit(long turn, ObjectNode position, Admission admission) {
        checkPosition(position);
        FaultPoints.reach("turn.boundary");
        checkAlive();
        // From the judgement until everything is taken nobody else may reach into the sandbox: what a request of
        // another thread did in
        // between would be in neither this turn nor the next.
        try (SandboxFactory.Hold held = sandbox.hold()) {
            sandbox.ensureReachable();
            return commit(new Attempt(turn, position.deepCopy(), carried, admission), held);
        }
    }

    private TurnOutcome commit(Attempt attempt, SandboxFactory.Hold held) {
        FaultPoints.reach("turn.held");
        attempt.effects = withCarried(watch.judge());
        attempt.judgeNanos = System.nanoTime() - attempt.boundaryNanos;
        if (attempt.effects.effect() == Effect.NONE) {
            watch.rebase();
            held.close();
            return commitUnchanged(attempt);
        }
        attempt.captureWait = attempt.admission.awaitCapture(attempt.effects.effect());
        if (attempt.captureWait > 0) {
            // Processes in the background ran on meanwhile.
            attempt.effects = withCarried(watch.judge());
        }
        try {
            return commitCaptured(attempt, capturePlan(attempt), held);
        } catch (CrabException e) {
            if (e.code() != ErrorCode.CAPTURE_FAILED
                    || services.onUncaptured() != UncapturedPolicy.CONTINUE_UNPROTECTED) {
                throw e;
            }
            LOG.warn(
                    "session {}: the processes of turn {} cannot be captured and are NOT PROTECTED; the files are saved",
                    store.session(),
                    attempt.turn,
                    e);
            attempt.lostProcesses = LostProcesses.read(sandbox.processes());
            attempt.lost = lost(e, attempt.lostProcesses);
            return commitCaptured(attempt, capturePlan(attempt), held);
        }
    }

    private TurnOutcome commitUnchanged(Attempt attempt) {
        Commit before = last;
        Commit commit = new Commit(
                attempt.turn,
                before == null ? 0 : before.generation(),
                before == null ? 0 : before.processGeneration(),
                before == null ? 0 : before.fileGeneration(),
                Effect.NONE,
                attempt.position);
        long start = System.nanoTime();
        long bytes = record(attempt, commit, new Details(TurnOutcome.Saved.NOTHING, lastLost, 0, 0, 0, now()));
        return new TurnOutcome(
                commit,
                attempt.effects,
                TurnOutcome.Saved.NOTHING,
                bytes,
                attempt.judgeNanos,
                0,
                0,
                System.nanoTime() - start);
    }

    private CheckpointPlan capturePlan(Attempt attempt) {
        long generation = nextGeneration++;
        return new CheckpointPlan(
                Names.checkpoint(store.session(), generation),
                attempt.effects.effect(),
                attempt.lost.isEmpty() && somethingOutlivesItsProcess(),
                lastImage,
                onlyRan(attempt.effects),
                !attempt.lost.isEmpty(),
                this::neighbours);
    }

    /** Dumps of other sessions, for the first one of this: sandboxes of one image and one program have much in common. */
    private List<ObjectRef> neighbours() {
        CheckpointImage before = lastImage;
        return before == null || before.processes() == null
                ? CheckpointStore.dumpsOfOthers(services.data(), store.session())
                : List.of();
    }

    /** Whether all that is known of processes is that they ran: they may be as they were. */
    private static boolean onlyRan(TurnEffects effects) {
        return effects.reasons().stream()
                .filter(reason -> reason.effect().processes())
                .allMatch(reason -> reason.rule().equals(EffectReason.SURVIVOR_RAN));
    }

    private TurnOutcome commitCaptured(Attempt attempt, CheckpointPlan plan, SandboxFactory.Hold held) {
        long generation = nextGeneration - 1;
        Captured captured = services.engine().capture(sandbox, plan, new FrozenHook() {
            @Override
            public Effect judge() {
                attempt.effects = withCarried(watch.judge());
                return attempt.effects.effect();
            }

            @Override
            public void taken() {
                watch.rebase();
                // Until the commit has succeeded.
                carried = attempt.effects;
            }
        });
        held.close();
        long captureNanos = System.nanoTime() - attempt.boundaryNanos;
        long start = System.nanoTime();
        long persistWait = attempt.admission.awaitPersist(captured.unwrittenBytes());
        Persisted persisted = persist(captured, generation);
        CheckpointImage image = persisted.image();
        Manifest manifest = manifest(attempt, generation, image);
        ProcessImage processes = image.processes();
        Commit commit = new Commit(
                attempt.turn,
                generation,
                processes == null ? 0 : processes.generation(),
                image.files().generation(),
                attempt.effects.effect(),
                attempt.position);
        // A dump that turned out to equal the one before it was dropped.
        boolean dumped = processes != null && processes.generation() == generation;
        TurnOutcome.Saved saved = dumped ? TurnOutcome.Saved.PROCESSES_AND_FILES : TurnOutcome.Saved.FILES;
        long bytes = persisted.bytesWritten();
        try {
            bytes += store.manifests().write(manifest);
            bytes += record(
                    attempt,
                    commit,
                    new Details(saved, attempt.lost, captureNanos, captured.freezeNanos(), bytes, now()));
        } catch (RuntimeException e) {
            if (!attempt.recorded && !store.journal().isFailed()) {
                Quietly.all(store.session(), () -> retention.takeBack(manifest));
            }
            // Else the record may have reached the disk all the same: what it needs stays, and the next opening
            // decides.
            throw e;
        }
        carried = TurnEffects.of(List.of());
        lastImage = image;
        lastLost = attempt.lost;
        return new TurnOutcome(
                commit,
                attempt.effects,
                saved,
                bytes,
                attempt.judgeNanos,
                attempt.captureWait,
                captureNanos,
                captured.freezeNanos(),
                persistWait,
                System.nanoTime() - start);
    }

    private Persisted persist(Captured captured, long generation) {
        boolean done = false;
        try {
            Persisted persisted = services.engine().persist(captured, generation);
            done = true;
            return persisted;
        } finally {
            if (!done) {
                Quietly.all(
                        store.session(),
                        () -> services.engine().discard(captured),
                        () -> retention.forgetObjects(generation));
            }
        }
    }

    /** The one write by which the turn becomes the recovery point. */
    private long record(Attempt attempt, Commit commit, Details details) {
        FaultPoints.reach("commit.before");
        ObjectNode body = SessionRecords.toJson(commit, lastAttributes, attempt.attributes, details);
        FileJournal.Appended appended = store.journal().appendMeasured(SessionRecords.COMMIT, body);
        attempt.recorded = true;
        last = commit;
        lastAttributes = attempt.attributes;
        points.add(new Point(commit, attempt.attributes));
        FaultPoints.reach("commit.recorded");
        return appended.bytes();
    }

    private Manifest manifest(Attempt attempt, long generation, CheckpointImage image) {
        return new Manifest(
                store.session(),
                generation,
                last == null ? 0 : last.generation(),
                attempt.turn,
                now(),
                attempt.effects.effect().name(),
                attempt.effects.reasons().stream()
                        .map(reason -> new Manifest.Reason(
                                reason.rule(), reason.effect().name(), reason.evidence()))
                        .toList(),
                begin.specJson(),
                sandbox.processes().lower().toString(),
                image,
                attempt.attributes,
                attempt.lost,
                attempt.lostProcesses);
    }

    private TurnEffects withCarried(TurnEffects judged) {
        if (carried.reasons().isEmpty()) {
            return judged;
        }
        List<EffectReason> reasons = new ArrayList<>(carried.reasons());
        judged.reasons().stream().filter(reason -> !reasons.contains(reason)).forEach(reasons::add);
        return TurnEffects.of(reasons);
    }

    /** Where only pid 1 is left, whether it is not all there is to processes: System V IPC lives on without any. */
    private boolean somethingOutlivesItsProcess() {
        if (processes().size() > 1) {
            return false; // then there is a dump, this one or an earlier one, and it holds the objects
        }
        for (String kind : List.of("shm", "sem", "msg")) {
            try {
                byte[] table = sandbox.readFile("/proc/sysvipc/" + kind, 1 << 16);
                if (new String(table, StandardCharsets.US_ASCII).lines().count() > 1) {
                    return true;
                }
            } catch (CrabException e) {
                LOG.debug("session {}: {} objects cannot be listed: a dump is taken", store.session(), kind, e);
                return true;
            }
        }
        return false;
    }

    private void checkAlive() {
        if (!processes().contains(Integer.toString(sandbox.processes().initPid()))) {
            throw CrabException.of(
                    ErrorCode.SANDBOX_LOST,
                    "the turn of session " + store.session() + " cannot be committed",
                    "its sandbox's pid 1 is gone",
                    "close the session and open it again: it comes back as the last commit left it");
        }
    }

    /** Host pids of everything in the sandbox. */
    private List<String> processes() {
        Path members = sandbox.processes().cgroup().resolve("cgroup.procs");
        try {
            return Files.readAllLines(members, StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.SANDBOX_LOST,
                    "the turn of session " + store.session() + " cannot be committed",
                    "the sandbox's cgroup cannot be read: " + CrabException.reason(e),
                    "close the session and open it again: it comes back as the last commit left it",
                    e);
        }
    }

    private static List<String> lost(CrabException e, List<LostProcess> processes) {
        List<String> lost = new ArrayList<>();
        lost.add("the sandbox's processes: " + e.why());
        processes.forEach(process -> lost.add(process.describe()));
        return lost;
    }

    private static void checkPosition(ObjectNode position) {
        int length = position.toString().getBytes(StandardCharsets.UTF_8).length;
        if (length > POSITION_LIMIT) {
            throw CrabException.of(
                    ErrorCode.LIMIT_EXCEEDED,
                    "the turn cannot be committed",
                    "its position has " + length + " bytes of JSON, and at most " + POSITION_LIMIT + " are allowed",
                    "keep the chat in the journal, and only where it stands in the position");
        }
    }

    private static long now() {
        return System.currentTimeMillis();
    }
}
