package dev.crab.runtime.engine;

import dev.crab.runtime.criu.CriuClient;
import dev.crab.runtime.criu.CriuFailure;
import dev.crab.runtime.criu.CriuPhase;
import dev.crab.runtime.criu.CriuSession;
import dev.crab.runtime.criu.DumpRequest;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.os.Cgroup;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.os.Processes;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxProcesses;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.ProcessEntry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One capture, from the boundary until the sandbox runs again. Used once, by one thread. */
final class Capture {
    private static final Logger LOG = LoggerFactory.getLogger(Capture.class);

    /** CRIU's image that names the files which it had to find another way to than their name. */
    private static final String REMAPPED = "remap-fpath.img";

    /** How often a sandbox is captured whose watchers of files have not read all their events, and the pause between, doubled each time. */
    private static final int ATTEMPTS = 4;

    private static final long PAUSE_MILLIS = 5;

    private final CriuClient criu;
    private final Snapshotter snapshotter;
    private final DumpRoom room;
    private final ExecutorService threads;
    private final RunningSandbox sandbox;
    private final SandboxProcesses processes;
    private final CheckpointPlan plan;
    private final FrozenHook hook;
    private final Instant takenAt = Instant.now();
    private final long begin = System.nanoTime();

    private volatile @Nullable Snapshot snapshot;
    private @Nullable Future<Snapshot> early;
    private List<ProcessEntry> table = List.of();
    private long frozenSince;
    private boolean unread;

    Capture(
            CriuClient criu,
            Snapshotter snapshotter,
            DumpRoom room,
            ExecutorService threads,
            RunningSandbox sandbox,
            CheckpointPlan plan,
            FrozenHook hook) {
        this.criu = criu;
        this.snapshotter = snapshotter;
        this.room = room;
        this.threads = threads;
        this.sandbox = sandbox;
        this.processes = sandbox.processes();
        this.plan = plan;
        this.hook = hook;
    }

    Captured run() {
        SandboxFactory.Hold hold = sandbox.hold();
        try {
            return whileHeld();
        } finally {
            hold.close();
        }
    }

    private Captured whileHeld() {
        boolean survivors = hasSurvivors();
        boolean captured = false;
        try {
            snapshotter.prepare(processes.volume());
            Captured result;
            if (!plan.processesGivenUp()
                    && (plan.dumpNeeded() || (survivors && (plan.effect().processes() || !hasEarlierDump())))) {
                result = dump(survivors);
            } else if (survivors) {
                result = freezeAndSnapshot();
            } else {
                result = snapshotOfIdle();
            }
            captured = true;
            return result;
        } finally {
            if (!captured) {
                dropSnapshot();
            }
        }
    }

    private boolean hasEarlierDump() {
        return plan.previous() != null && plan.previous().processes() != null;
    }

    /** Nothing but pid 1 is there, and it sits and waits for requests, of which there are none: nothing has to be held. */
    private Captured snapshotOfIdle() {
        if (hook.judge().processes() && !plan.processesGivenUp() && hasSurvivors()) {
            return dump(true);
        }
        Snapshot taken = takeSnapshot();
        if (!plan.processesGivenUp() && hasSurvivors()) {
            // Somebody outside a turn has started a process meanwhile: it belongs to this checkpoint or to none.
            snapshotter.delete(taken);
            snapshot = null;
            return dump(true);
        }
        hook.taken();
        return new Captured(plan, taken, null, false, takenAt, System.nanoTime() - begin, 0);
    }

    private Captured freezeAndSnapshot() {
        Cgroup cgroup = cgroup();
        try {
            freeze(cgroup);
            if (hook.judge().processes() && !plan.processesGivenUp()) {
                return dump(true);
            }
            Snapshot taken = takeSnapshot();
            hook.taken();
            cgroup.thaw();
            long end = System.nanoTime();
            return new Captured(plan, taken, null, true, takenAt, end - begin, end - frozenSince);
        } catch (IOException e) {
            throw failed("it could not be thawed: " + e, e);
        } finally {
            thaw();
        }
    }

    private Captured dump(boolean survivors) {
        for (int attempt = 1; ; attempt++) {
            try {
                return dumpAtOnce(survivors);
            } catch (CrabException e) {
                // Whoever watches files reads his events as soon as he gets to run.
                if (!unread || attempt == ATTEMPTS) {
                    throw e;
                }
                LOG.debug("sandbox {} is captured once more", sandbox.id(), e);
                unread = false;
                pause(attempt);
            }
        }
    }

    private void pause(int attempt) {
        try {
            Thread.sleep(PAUSE_MILLIS << attempt);
        } catch (InterruptedException e) {
            throw CrabException.interrupted("capturing sandbox " + sandbox.id(), e);
        }
    }

    private Captured dumpAtOnce(boolean survivors) {
        long memory = checkNotTraced();
        try {
            return dump(survivors, memory, false);
        } catch (CriuFailure quiet) {
            lostIfBrokenOff(quiet);
            // What CRIU says about errors alone is seldom enough: once more, with everything that it can tell.
            try {
                LOG.debug("dump of {} failed, trying once more with a full log", sandbox.id(), quiet);
                return dump(survivors, memory, true);
            } catch (CriuFailure verbose) {
                lostIfBrokenOff(verbose);
                verbose.addSuppressed(quiet);
                throw failed(String.valueOf(verbose.getMessage()), verbose);
            }
        }
    }

    private Captured dump(boolean survivors, long memory, boolean again) throws CriuFailure {
        Path images = room.forDump(sandbox.id(), memory, again);
        Cgroup cgroup = cgroup();
        boolean dumped = false;
        try (CriuSession session = criu.session(processes.networkNamespace())) {
            int init = processes.initPid();
            DumpRequest request = new DumpRequest(init, images, processes.cgroup(), WatchPaths.of(init));
            session.dump(
                    request,
                    (phase, pid) -> {
                        if (phase == CriuPhase.PRE_DUMP) {
                            freeze(cgroup);
                            early = threads.submit(this::takeSnapshot);
                        } else if (phase == CriuPhase.POST_DUMP) {
                            whileHeldByCriu(images);
                        }
                    },
                    again);
            // CRIU leaves a tree that it found frozen as it found it.
            cgroup.thaw();
            long end = System.nanoTime();
            dumped = true;
            Snapshot taken = snapshot;
            if (taken == null) {
                throw failed("CRIU reported a dump without having stopped for the snapshot", null);
            }
            Captured.Dump dump = new Captured.Dump(images, table);
            return new Captured(plan, taken, dump, survivors, takenAt, end - begin, end - frozenSince);
        } catch (IOException e) {
            throw failed("its root cannot be read, or it could not be thawed: " + e, e);
        } finally {
            criu.refill(processes.networkNamespace());
            if (!dumped) {
                thaw();
                WorkDirectory.delete(images);
                dropSnapshot();
            }
        }
    }

    private void dropSnapshot() {
        Future<Snapshot> begun = early;
        early = null;
        try {
            if (begun != null) {
                CriuCheckpointEngine.await(begun);
            }
        } catch (RuntimeException e) {
            LOG.debug("there was no snapshot to drop", e);
        }
        if (snapshot != null) {
            snapshotter.delete(snapshot);
            snapshot = null;
        }
    }

    /** CRIU would do it too, but looks only every tenth of a second whether it is done. */
    private void freeze(Cgroup cgroup) {
        if (frozenSince == 0) {
            frozenSince = System.nanoTime();
        }
        try {
            cgroup.freeze();
        } catch (IOException e) {
            throw failed("it could not be held still: " + e, e);
        }
    }

    /** The images are written, the processes stand still, and what CRIU linked into the file system for the dump is still there. */
    private void whileHeldByCriu(Path images) {
        FaultPoints.reach("capture.dumped");
        Future<ProcessTable> reading =
                threads.submit(() -> ProcessTable.of(processes.initPid(), FileLocks.areIn(images)));
        ProcessTable read;
        try {
            // Not judged again: no judgement could ask for more than a dump, and CRIU itself has just run in the
            // processes.
            finishSnapshot(images);
        } finally {
            read = CriuCheckpointEngine.await(reading);
        }
        table = read.entries();
        checkComplete(images, read);
        ProcessTable.checkSessions(sandbox.id(), table);
        hook.taken();
    }

    /**
     * The snapshot is taken beside the dump: the files stand as still as the processes do. But for what CRIU itself makes there: for a
     * file without a name that a process holds, it may link a name into the file system, says so in this image, and needs it on restore.
     */
    private void finishSnapshot(Path images) {
        Future<Snapshot> begun = early;
        if (begun != null) {
            CriuCheckpointEngine.await(begun);
            early = null;
        }
        if (Files.exists(images.resolve(REMAPPED))) {
            dropSnapshot();
            takeSnapshot();
        }
    }

    private long checkNotTraced() {
        try {
            return ProcessTable.checkNotTraced(sandbox.id(), ProcessTable.members(processes.cgroup()));
        } catch (IOException e) {
            throw failed("its processes cannot be listed: " + e, e);
        }
    }

    /** Whoever is in the sandbox's cgroup without descending from its pid 1 is not in the dump; nor is what CRIU leaves out in silence. */
    private void checkComplete(Path images, ProcessTable read) {
        try {
            List<Integer> members = ProcessTable.members(processes.cgroup());
            long living =
                    table.stream().filter(entry -> !entry.state().equals("Z")).count();
            if (members.size() > living) {
                throw failed(
                        members.size() + " processes are in its cgroup, " + living + " descend from its pid 1", null);
            }
            if (!criu.features().locksAfterMappings()) {
                FileLocks.check(sandbox.id(), images, members);
            }
            SilentLosses.renamedSocket(read).ifPresent(why -> {
                throw failed(why, null);
            });
            SilentLosses.unreadEvents(read).ifPresent(why -> {
                unread = true;
                throw failed(why, null);
            });
        } catch (IOException e) {
            throw failed("its processes cannot be listed: " + e, e);
        }
    }

    private Snapshot takeSnapshot() {
        Snapshot taken = snapshotter.snapshot(processes.volume(), plan.snapshotId());
        snapshot = taken;
        FaultPoints.reach("capture.snapshotted");
        return taken;
    }

    private boolean hasSurvivors() {
        try {
            List<Integer> members = ProcessTable.members(processes.cgroup());
            if (!members.contains(processes.initPid())) {
                throw lost("its pid 1 (host pid " + processes.initPid() + ") is gone", null);
            }
            return members.size() > 1;
        } catch (IOException e) {
            throw lost("its cgroup cannot be read: " + e, e);
        }
    }

    private Cgroup cgroup() {
        return Cgroups.detect().group(processes.cgroup().getFileName().toString());
    }

    /** Whatever happened, the sandbox must not stand still for ever. */
    private void thaw() {
        try {
            // Not waited for: what a CRIU that died left of a process may never come back from where it stands.
            Files.writeString(processes.cgroup().resolve("cgroup.freeze"), "0");
        } catch (IOException e) {
            LOG.warn("sandbox {} could not be thawed", sandbox.id(), e);
        }
    }

    private void lostIfBrokenOff(CriuFailure failure) {
        if (failure.kind() == CriuFailure.Kind.BROKEN_OFF || !Processes.isAlive(processes.initPid())) {
            throw lost(String.valueOf(failure.getMessage()), failure);
        }
    }

    private CrabException lost(String why, @Nullable Throwable cause) {
        String what = "sandbox " + sandbox.id() + " is lost";
        String cure = "restore its last checkpoint";
        return cause == null
                ? CrabException.of(ErrorCode.SANDBOX_LOST, what, why, cure)
                : CrabException.of(ErrorCode.SANDBOX_LOST, what, why, cure, cause);
    }

    private CrabException full(String why, @Nullable Throwable cause) {
        String what = "sandbox " + sandbox.id() + " cannot be captured";
        String cure = "free space on that file system, then commit again: what was committed is kept";
        return cause == null
                ? CrabException.of(ErrorCode.DISK_FULL, what, why, cure)
                : CrabException.of(ErrorCode.DISK_FULL, what, why, cure, cause);
    }

    private CrabException failed(String why, @Nullable Throwable cause) {
        if (why.contains("No space left on device")) {
            return full(why, cause);
        }
        String what = "sandbox " + sandbox.id() + " cannot be captured";
        String cure = "the sandbox runs on; see the reason for what in it stands in the way";
        return cause == null
                ? CrabException.of(ErrorCode.CAPTURE_FAILED, what, why, cure)
                : CrabException.of(ErrorCode.CAPTURE_FAILED, what, why, cure, cause);
    }
}
