package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.Revival.Alive;
import dev.crab.runtime.session.SessionRecords.Timeline;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.FileJournal;
import dev.crab.runtime.store.Journal;
import dev.crab.runtime.store.LostProcess;
import dev.crab.runtime.store.Manifest;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session that is open: a store under its lock and, unless it is parked, a running sandbox and its watch.
 *
 * <p>Longer than most classes here because everything that one lock guards stands in one place.
 */
final class DurableSession implements SandboxSession {
    private static final Logger LOG = LoggerFactory.getLogger(DurableSession.class);

    private final SessionServices services;
    private final CheckpointStore store;
    private final Retention retention;
    private final SessionCircle circle;
    private final Housekeeping housekeeping;
    private final SandboxSlots slots;
    private final Standbys standbys;
    private final SessionArchive.@Nullable Origin origin;
    private final SessionSandbox sandbox =
            new SessionSandbox(() -> awake().alive.sandbox());

    /** Held during every step of a turn, so that turns, their commits, parking and closing come one after the other. */
    private final ReentrantLock turns = new ReentrantLock();

    /** What a rollback exchanges, or parking and waking; written under {@link #turns}. */
    private volatile Now now;

    /** Whether the sandbox of {@link #now} has ended; written under {@link #turns}. */
    private volatile boolean parked;

    // Guarded by turns.
    private @Nullable OpenTurn openTurn;

    private Map<Long, String> labels;
    private boolean closed;

    /**
     * The sandbox that runs, or ran last; whoever commits its turns; and how the session came to be where it is: opened, or brought back
     * since it was parked.
     */
    private record Now(Alive alive, TurnCommitter committer, Recovery recovery) {}

    DurableSession(
            SessionServices services,
            CheckpointStore store,
            Retention retention,
            Alive alive,
            Recovery recovery,
            Timeline timeline,
            @Nullable Manifest manifest,
            SessionCircle circle) {
        this.services = services;
        this.store = store;
        this.retention = retention;
        this.circle = circle;
        this.housekeeping = new Housekeeping(store.session(), circle.housekeeping());
        this.slots = new SandboxSlots(alive.sandbox().id());
        this.standbys = new Standbys(services, store, slots, circle.standbys());
        this.origin = Branching.origin(store.journal().recovered());
        this.labels = Labels.of(store.journal().recovered());
        retention.counts(timeline, labels.keySet());
        this.now = new Now(alive, committer(alive, timeline, manifest), recovery);
    }

    /** Before it is used: makes a copy differ from what it is a copy of, and restores ahead what the session may have to go back to. */
    void begin() {
        Commit last = lastCommit();
        differ(now.alive, last == null ? 0 : last.turn());
        standbys.want(now.committer.timeline());
    }

    private void differ(Alive alive, long turn) {
        SessionArchive.Origin from = origin;
        if (from != null && turn <= from.turn()) {
            CloneHygiene.apply(alive.sandbox(), id(), from.session());
        }
    }

    @Override
    public int standbys() {
        return standbys.count();
    }

    private TurnCommitter committer(Alive alive, Timeline timeline, @Nullable Manifest manifest) {
        return new TurnCommitter(services, store, retention, alive.sandbox(), alive.watch(), timeline, manifest);
    }

    private Now awake() {
        if (parked) {
            wake();
        }
        return now;
    }

    @Override
    public String id() {
        return store.session();
    }

    @Override
    public Sandbox sandbox() {
        awake();
        return sandbox;
    }

    @Override
    public Recovery recovery() {
        return now.recovery;
    }

    @Override
    public @Nullable Commit lastCommit() {
        return now.committer.lastCommit();
    }

    @Override
    public Journal journal() {
        return store.journal();
    }

    @Override
    public Turn beginTurn() {
        turns.lock();
        try {
            if (closed) {
                throw invalid("begin", "the session is closed");
            }
            if (openTurn != null) {
                throw invalid("begin", "turn " + openTurn.number() + " is neither committed nor abandoned");
            }
            wake();
            FaultPoints.reach("turn.begin");
            // The watch begins with the first request (Alive.takeUp): of a turn that asks the sandbox for nothing,
            // nobody
            // waits until the kernel has attached programs.
            Commit last = now.committer.lastCommit();
            openTurn = new OpenTurn(this, last == null ? 1 : last.turn() + 1);
            return openTurn;
        } finally {
            turns.unlock();
        }
    }

    TurnOutcome commit(OpenTurn turn, ObjectNode position, Admission admission) {
        long written = 0;
        turns.lock();
        try {
            if (openTurn != turn) {
                throw invalid("commit", closed ? "the session is closed" : "it has ended already");
            }
            TurnOutcome outcome = now.committer.commit(turn.number(), position, admission);
            written = outcome.bytesWritten();
            forgetOldGenerations();
            standbys.want(now.committer.timeline());
            return outcome;
        } finally {
            admission.release(written);
            // By what is on the disk and not by whether an exception came: a recorded turn must never be recorded
            // again.
            Commit last = now.committer.lastCommit();
            if (openTurn == turn && last != null && last.turn() >= turn.number()) {
                openTurn = null;
            }
            turns.unlock();
        }
    }

    void abandon(OpenTurn turn) {
        turns.lock();
        try {
            if (openTurn == turn) {
                openTurn = null;
            }
        } finally {
            turns.unlock();
        }
    }

    @Override
    public List<TurnInfo> turns() {
        return TurnList.read(services.data(), id());
    }

    @Override
    public Rollback rollbackTo(long turn, String note) {
        long asked = System.nanoTime();
        turns.lock();
        Retention.Hold held = hold();
        try {
            requireOpen("go back");
            Timeline timeline = now.committer.timeline();
            TurnTarget target = TurnTarget.of(id(), timeline, store.manifests(), turn);
            FaultPoints.reach("rollback.begin");
            return goBack(timeline, target, note, asked);
        } finally {
            held.close();
            turns.unlock();
        }
    }

    private Rollback goBack(Timeline timeline, TurnTarget target, String note, long asked) {
        Manifest manifest = target.manifest();
        // It may run before the record is durable, but nobody can reach it: what it does goes with it.
        Alive standby = standbys.resume(target.generation());
        Alive next = standby != null ? standby : revive(timeline.spec(), manifest);
        Runnable endBefore = endOfSandbox();
        List<LostProcess> restarted;
        boolean done = false;
        try {
            restarted = next.takeUp(services, id(), target.attributes(), manifest);
            differ(next, target.turn());
            FaultPoints.reach("rollback.before");
            store.journal()
                    .append(
                            SessionRecords.ROLLBACK,
                            SessionRecords.asked(target.turn(), target.generation(), note, System.currentTimeMillis()));
            done = true;
        } finally {
            if (!done) {
                Quietly.all(id(), () -> next.end(services));
            }
        }
        FaultPoints.reach("rollback.recorded");
        Timeline counting = timeline.until(target.turn());
        Commit commit = target.point() == null ? null : target.point().commit();
        Recovery recovery = SessionOpening.recovery(id(), commit, manifest, next, restarted, List.of(), asked);
        now = new Now(next, committer(next, counting, manifest), recovery);
        parked = false;
        openTurn = null;
        labels = Labels.until(labels, target.turn());
        retention.counts(counting, labels.keySet());
        long nanos = System.nanoTime() - asked;
        standbys.want(counting);
        housekeeping.later("the sandbox that it had before could not be ended", endBefore);
        housekeeping.later(
                "what a rollback made void could not be deleted and takes room",
                () -> retention.dropVoid(target.generation(), timeline.highestGeneration()));
        LOG.info("session {}: back at turn {} ({} ms)", id(), target.turn(), nanos / 1_000_000);
        return new Rollback(
                target.turn(),
                commit,
                timeline.points().size() - target.turn(),
                next.processes(),
                standby != null,
                standby != null ? 0 : next.verifyNanos(),
                nanos);
    }

    /** What ends the sandbox that it has now; where it was parked, what may be left of that. */
    private Runnable endOfSandbox() {
        Alive current = now.alive;
        return parked ? () -> removeRest(current.sandbox().id()) : () -> current.end(services);
    }

    /** What ending a sandbox left where that failed half-way; its name is not used again. */
    private void removeRest(String name) {
        services.factory().sweep(name);
        SandboxSlots.delete(services, name);
    }

    private Alive revive(SandboxSpec spec, @Nullable Manifest manifest) {
        Revival revival = new Revival(services, id(), slots.next());
        if (manifest == null) {
            return revival.start(spec);
        }
        SessionOpening.checkImage(services, id(), spec, manifest);
        return revival.park(spec, manifest).resume();
    }

    @Override
    public TurnDiff diff(long from, long to) {
        turns.lock();
        Retention.Hold held = hold();
        try {
            Timeline timeline = now.committer.timeline();
            return TurnDiffs.between(
                    store.objects(),
                    TurnTarget.of(id(), timeline, store.manifests(), from),
                    TurnTarget.of(id(), timeline, store.manifests(), to));
        } finally {
            held.close();
            turns.unlock();
        }
    }

    @Override
    public List<SandboxSession> branch(long turn, int count) {
        return branch(turn, () -> Branching.freeNames(services.data(), id(), count));
    }

    @Override
    public List<SandboxSession> branch(long turn, List<String> names) {
        return branch(turn, () -> names);
    }

    private List<SandboxSession> branch(long turn, Supplier<List<String>> namer) {
        List<String> names;
        turns.lock();
        Retention.Hold held = hold();
        try {
            requireOpen("be branched");
            names = namer.get();
            TurnTarget target = TurnTarget.of(id(), now.committer.timeline(), store.manifests(), turn);
            new Branching(
                            services,
                            id(),
                            target,
                            FileJournal.read(services.data().session(id())))
                    .make(names);
        } finally {
            held.close();
            turns.unlock();
        }
        return Branches.open(services, names, circle);
    }

    @Override
    public void label(long turn, @Nullable String label) {
        turns.lock();
        Retention.Hold held = hold();
        try {
            requireOpen("name a turn");
            Labels.give(store, now.committer.timeline(), turn, label);
            labels = Labels.with(labels, turn, label);
            forgetOldGenerations();
        } finally {
            held.close();
            turns.unlock();
        }
    }

    private void requireOpen(String verb) {
        if (closed) {
            throw CrabException.of(
                    ErrorCode.STATE_INVALID, "session " + id() + " cannot " + verb, "it is closed", "open it again");
        }
    }

    private void forgetOldGenerations() {
        retention.counts(now.committer.timeline(), labels.keySet());
        dropOld();
    }

    private void dropOld() {
        housekeeping.later("old generations could not be deleted and take room", retention::dropOld);
    }

    /** What is looked up from here on is not deleted until this is closed. */
    private Retention.Hold hold() {
        return retention.hold(this::dropOld);
    }

    private CrabException invalid(String verb, String why) {
        return CrabException.of(
                ErrorCode.STATE_INVALID,
                "a turn of session " + id() + " cannot " + verb,
                why,
                "end each turn by commit or abandon before the next begins");
    }

    @Override
    public void close() {
        turns.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            openTurn = null;
            FaultPoints.reach("close.begin");
            try (store) {
                standbys.close();
                housekeeping.await();
                endOfSandbox().run();
            } finally {
                circle.closed(this);
            }
        } finally {
            turns.unlock();
        }
    }

    @Override
    public void park() {
        turns.lock();
        try {
            if (closed || openTurn != null) {
                throw CrabException.of(
                        ErrorCode.STATE_INVALID,
                        "session " + id() + " cannot be parked",
                        closed ? "it is closed" : "a turn is neither committed nor abandoned",
                        "commit the turn, then park");
            }
            if (parked) {
                return;
            }
            FaultPoints.reach("park.begin");
            standbys.dropAll();
            housekeeping.await();
            // Whatever fails from here on, the sandbox is of no more use; what is left of it goes when another one
            // takes
            // its place.
            parked = true;
            now.alive.end(services, "park.stopped");
            FaultPoints.reach("park.done");
        } finally {
            turns.unlock();
        }
    }

    @Override
    public boolean isParked() {
        return parked;
    }

    /** To the last commit or not at all: whoever goes on from there knows of no other. */
    private void wake() {
        long begun = System.nanoTime();
        turns.lock();
        try {
            if (!parked) {
                return;
            }
            requireOpen("use its sandbox");
            FaultPoints.reach("wake.begin");
            removeRest(now.alive.sandbox().id());
            Commit last = lastCommit();
            Timeline timeline = now.committer.timeline();
            TurnTarget target = TurnTarget.of(id(), timeline, store.manifests(), last == null ? 0 : last.turn());
            Manifest manifest = target.manifest();
            Alive next = revive(timeline.spec(), manifest);
            boolean done = false;
            try {
                List<LostProcess> restarted = next.takeUp(services, id(), target.attributes(), manifest);
                differ(next, target.turn());
                List<String> skipped = SessionRecords.lastReasons(
                        FileJournal.read(services.data().session(id())));
                Recovery recovery = SessionOpening.recovery(id(), last, manifest, next, restarted, skipped, begun);
                now = new Now(next, committer(next, timeline, manifest), recovery);
                parked = false;
                done = true;
            } finally {
                if (!done) {
                    Quietly.all(id(), () -> next.end(services));
                }
            }
            standbys.want(timeline);
            FaultPoints.reach("wake.ready");
        } finally {
            turns.unlock();
        }
    }
}
