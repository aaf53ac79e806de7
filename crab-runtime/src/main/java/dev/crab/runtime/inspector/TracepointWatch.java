package dev.crab.runtime.inspector;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.libbpf.BpfMap;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One sandbox under the tracepoint tier.
 *
 * <p>Epochs: {@code base} is the epoch that began at the last rebase; everything stamped with it or a later one is evidence. Each
 * gathering of evidence first starts a new epoch, so that what happens while it reads is stamped with that one: after a judgement of NONE
 * the new base is the epoch which that judgement started, and nothing falls between the two, though the sandbox was never stopped. After
 * any other judgement the sandbox is held still at the rebase; then the evidence is gathered once more, so that the baseline is the state
 * that was saved and not the one that was judged a moment before.
 */
final class TracepointWatch implements TurnInspector.Watch {
    private final Programs programs;
    private final LongSupplier missedRuns;
    private final InspectionTarget target;
    private final Consumer<TracepointWatch> onClose;
    private final long cgroupId;
    private final long pidNamespace;
    private final TouchedObjects objects;
    private final BpfMap touched;
    private final UpperFiles files;
    private final SystemCalls systemCalls = SystemCalls.table();
    private final Map<ProcessRef, Holdings> holdings = new HashMap<>();

    private Set<ProcessRef> survivors = Set.of();
    private Set<ProcessRef> present = Set.of();
    private @Nullable String failure;
    private @Nullable TurnEffects judged;
    private long base;
    private long judgedEpoch;

    /** Runs that the kernel had left out when base and judged epoch began. */
    private long baseMissed;

    private long judgedMissed;
    private long baseTime;
    private long judgedTime;
    private long scanEpoch;
    private boolean scanned;
    private boolean inTurn;
    private boolean closed;

    /**
     * @param missedRuns how often the programs were left out so far: what they did not see then is not known
     * @param objects of the target's cgroup; closed with the watch, and left to the caller if there comes none
     */
    TracepointWatch(
            Programs programs,
            InspectionTarget target,
            FilePolicy policy,
            LongSupplier missedRuns,
            TouchedObjects objects,
            Consumer<TracepointWatch> onClose)
            throws IOException {
        this.programs = programs;
        this.missedRuns = missedRuns;
        this.target = target;
        this.onClose = onClose;
        this.objects = objects;
        this.cgroupId = objects.cgroup();
        this.pidNamespace = Processes.pidNamespace(target.initPid());
        this.files = new UpperFiles(target, policy);
        try {
            // In Crab's own pid namespace, every process beside Crab would seem to be the sandbox's.
            boolean own = pidNamespace
                    != Processes.pidNamespace((int) ProcessHandle.current().pid());
            this.touched = objects.map();
            programs.follow(cgroupId, target.initPid(), pidNamespace, own);
            this.baseTime = HeldObjects.now();
            this.baseMissed = missedRuns.getAsLong();
            this.base = programs.advance();
            this.survivors = Processes.list(target.cgroup(), target.initPid());
            for (ProcessRef survivor : survivors) {
                programs.addSurvivor(survivor.pid());
            }
            park(survivors);
            files.scan();
            files.rebase();
            this.scanEpoch = base;
        } catch (IOException | RuntimeException e) {
            programs.forget(cgroupId, pidNamespace);
            files.close();
            throw e;
        }
    }

    @Override
    public synchronized void begin() {
        requireOpen();
        if (!inTurn) {
            programs.attachCalls();
            inTurn = true;
        }
    }

    @Override
    public synchronized TurnEffects judge() {
        requireOpen();
        judgedTime = HeldObjects.now();
        judgedMissed = missedRuns.getAsLong();
        judgedEpoch = programs.advance();
        Evidence evidence = gather(judgedEpoch);
        endTurn();
        TurnEffects effects = EffectClassifier.classify(evidence);
        judged = effects;
        return effects;
    }

    @Override
    public synchronized void rebase() {
        requireOpen();
        if (judged == null || judged.effect() != Effect.NONE) {
            judgedTime = HeldObjects.now();
            judgedMissed = missedRuns.getAsLong();
            judgedEpoch = programs.advance();
            try {
                // Only what the baseline is made of: the sandbox stands still for it.
                look(judgedEpoch);
                failure = null;
            } catch (IOException | RuntimeException e) {
                failure = "the last rebase failed: " + CrabException.reason(e);
            }
            follow(present);
            Programs.clean(touched, judgedEpoch);
            holdings.clear();
        }
        base = judgedEpoch;
        baseTime = judgedTime;
        baseMissed = judgedMissed;
        files.rebase();
        scanned = false;
        judged = null;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            endTurn();
            for (ProcessRef survivor : survivors) {
                programs.removeSurvivor(survivor.pid());
            }
            programs.forget(cgroupId, pidNamespace);
            objects.close();
            files.close();
            onClose.accept(this);
        }
    }

    /** What it knows of the layer, for tests. */
    UpperFiles files() {
        return files;
    }

    private void endTurn() {
        if (inTurn) {
            programs.detachCalls();
            inTurn = false;
        }
    }

    /** Evidence since {@link #base}; {@code now} is the epoch that has just begun. */
    private Evidence gather(long now) {
        try {
            if (failure != null) {
                return Evidence.failed(failure);
            }
            Evidence evidence = gatherOrFail(now);
            long missed = missedRuns.getAsLong() - baseMissed;
            return missed == 0
                    ? evidence
                    : Evidence.failed(missed + " runs of the programs were left out by the kernel");
        } catch (IOException | RuntimeException e) {
            // Whatever it was: what could not be seen has to be saved.
            return Evidence.failed(CrabException.reason(e));
        }
    }

    /**
     * What processes and programs tell at first sight.
     *
     * @param ran survivors that ran since the base
     * @param signalled survivors that were signalled since the base
     * @param suspect whether files may have changed since the base
     * @param objects what was touched since the base, where that matters
     */
    private record Look(
            Programs.Seen seen,
            List<ProcessRef> born,
            List<ProcessRef> gone,
            List<ProcessRef> living,
            Set<ProcessRef> ran,
            Set<ProcessRef> signalled,
            boolean suspect,
            Programs.Objects objects) {}

    /** Looks at processes and, where they may have changed since they were last read, at files. */
    private Look look(long now) throws IOException {
        present = Processes.list(target.cgroup(), target.initPid());
        List<ProcessRef> born = minus(present, survivors);
        List<ProcessRef> gone = minus(survivors, present);
        List<ProcessRef> living = minus(survivors, Set.copyOf(gone));

        Programs.Seen seen = programs.seen(cgroupId, base, scanEpoch);
        if (seen == null) {
            throw new IOException("the programs no longer know the sandbox");
        }
        Set<ProcessRef> ran = new HashSet<>();
        Set<ProcessRef> signalled = new HashSet<>();
        boolean ranSinceScan = survivors(living, ran, signalled);

        boolean suspect = seen.marks().stream().anyMatch(KernelMark::nominatesFiles) || !ran.isEmpty();
        boolean stale = seen.marksSinceScan().stream().anyMatch(KernelMark::nominatesFiles) || ranSinceScan;
        Programs.Objects objects = suspect || asksForObjects(seen.marks(), living)
                ? programs.touched(touched, base)
                : new Programs.Objects(Set.of(), Set.of(), Set.of(), Set.of());
        if (suspect && (stale || !scanned)) {
            files.scan(objects.files().size());
            scanEpoch = now;
            scanned = true;
        }
        return new Look(seen, born, gone, living, ran, signalled, suspect, objects);
    }

    private Evidence gatherOrFail(long now) throws IOException {
        Look look = look(now);
        Programs.Seen seen = look.seen();
        List<ProcessRef> living = look.living();
        Programs.Objects objects = look.objects();
        boolean anyWritten = seen.marks().stream().anyMatch(KernelMark::nominatesAnyContent)
                || !look.ran().isEmpty();
        List<FileChange> changes = look.suspect() ? files.changes(objects.files(), anyWritten) : List.of();

        look.ran().forEach(holdings::remove);
        for (ProcessRef survivor : living) {
            // What a process holds changes only when it runs, so that one look lasts until then.
            holdings.computeIfAbsent(survivor, Holdings::of);
        }
        Set<ProcessRef> unnamedTouched = new HashSet<>();
        Set<ProcessRef> notified = new HashSet<>();
        Set<ProcessRef> queued = new HashSet<>();
        boolean filesChanged = changes == null || !changes.isEmpty();
        boolean unnamedSuspect = seen.marks().stream().anyMatch(KernelMark::nominatesUnnamedFiles);
        for (ProcessRef survivor : living) {
            HeldObjects held = new HeldObjects(survivor, Objects.requireNonNull(holdings.get(survivor)));
            if (unnamedSuspect && held.unnamedFileChanged(baseTime, objects.files())) {
                unnamedTouched.add(survivor);
            }
            if (filesChanged && held.hasQueuedData()) {
                queued.add(survivor);
            }
            if (held.hasNotifications()) {
                notified.add(survivor);
            }
        }
        Set<Long> sockets = new HashSet<>(objects.sockets());
        if (!programs.seesSockets() && seen.marks().contains(KernelMark.SOCKET)) {
            sockets.add(0L);
        }
        return new Evidence(
                seen.marks(),
                systemCalls.name(seen.unknownCall()),
                look.born(),
                look.gone(),
                living,
                look.ran(),
                look.signalled(),
                new Evidence.Touched(objects.pipes(), sockets, objects.memoryFiles()),
                Map.copyOf(holdings),
                unnamedTouched,
                notified,
                queued,
                changes,
                null);
    }

    /** Sorts the survivors that ran or were signalled; returns whether one ran since the files were last read. */
    private boolean survivors(List<ProcessRef> living, Set<ProcessRef> ran, Set<ProcessRef> signalled) {
        if (living.isEmpty()) {
            return false;
        }
        boolean sinceScan = false;
        Set<Integer> resuming = programs.resuming();
        for (ProcessRef survivor : living) {
            Programs.Survivor stamps = programs.survivor(survivor.pid());
            if (stamps == null) {
                throw new IllegalStateException("the programs no longer know " + survivor);
            }
            boolean unsettled = resuming.contains(survivor.pid());
            if (unsettled || Long.compareUnsigned(stamps.ran(), base) >= 0) {
                ran.add(survivor);
                sinceScan |= unsettled || Long.compareUnsigned(stamps.ran(), scanEpoch) >= 0;
            }
            if (Long.compareUnsigned(stamps.signalled(), base) >= 0) {
                signalled.add(survivor);
            }
        }
        return sinceScan;
    }

    private static boolean asksForObjects(Set<KernelMark> marks, List<ProcessRef> living) {
        return !living.isEmpty()
                && (marks.contains(KernelMark.PIPE)
                        || marks.contains(KernelMark.SOCKET)
                        || marks.contains(KernelMark.MEMORY_FILE));
    }

    /** From now on these are the survivors. The sandbox is held still, so none of them runs meanwhile. */
    private void follow(Set<ProcessRef> processes) {
        for (ProcessRef old : minus(survivors, processes)) {
            programs.removeSurvivor(old.pid());
        }
        List<ProcessRef> fresh = minus(processes, survivors);
        survivors = processes;
        try {
            for (ProcessRef survivor : fresh) {
                programs.addSurvivor(survivor.pid());
            }
            park(processes);
        } catch (IOException | CrabException e) {
            failure = "survivors cannot be followed: " + CrabException.reason(e);
        }
    }

    /** Processes that were stopped before they were followed: their first stint afterwards is the capture's doing (bpf/lib/run.h). */
    private void park(Set<ProcessRef> processes) throws IOException {
        if (processes.isEmpty()) {
            return;
        }
        boolean frozen = Processes.isFrozen(target.cgroup());
        for (ProcessRef process : processes) {
            for (int tid : Processes.threads(process.pid())) {
                if (frozen || Processes.isTraced(process.pid(), tid)) {
                    programs.park(process.pid(), tid);
                }
            }
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("the watch of sandbox " + target.sandboxId() + " is closed");
        }
    }

    private static List<ProcessRef> minus(Set<ProcessRef> some, Set<ProcessRef> others) {
        List<ProcessRef> rest = new ArrayList<>(some);
        rest.removeAll(others);
        return rest;
    }
}
