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

    /** Where CRIU looks for the file behind an inotify watch; it looks only if there is one. */
    private static final List<String> WATCH_PATHS =
            List.of("/root", "/home", "/srv", "/tmp", "/opt", "/var", "/etc", "/usr/local");

    /** Bytes that must be free before a dump is begun: 64 MiB. */
    private static final long RESERVE = 64L << 20;

    private final CriuClient criu;
    private final Snapshotter snapshotter;
    private final WorkDirectory work;
    private final ExecutorService threads;
    private final RunningSandbox sandbox;
    private final SandboxProcesses processes;
    private final CheckpointPlan plan;
    private final FrozenHook hook;
    private final Instant takenAt = Instant.now();
    private final long begin = System.nanoTime();

    private @Nullable Snapshot snapshot;
    private List<ProcessEntry> table = List.of();
    private long frozenSince;

    Capture(
            CriuClient criu,
            Snapshotter snapshotter,
            WorkDirectory work,
            ExecutorService threads,
            RunningSandbox sandbox,
            CheckpointPlan plan,
            FrozenHook hook) {
        this.criu = criu;
        this.snapshotter = snapshotter;
        this.work = work;
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
            if (!captured && snapshot != null) {
                snapshotter.delete(snapshot);
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
        checkNotTraced();
        try {
            return dump(survivors, false);
        } catch (CriuFailure quiet) {
            lostIfBrokenOff(quiet);
            // What CRIU says about errors alone is seldom enough: once more, with everything that it can tell.
            try {
                LOG.debug("dump of {} failed, trying once more with a full log", sandbox.id(), quiet);
                return dump(survivors, true);
            } catch (CriuFailure verbose) {
                lostIfBrokenOff(verbose);
                verbose.addSuppressed(quiet);
                throw failed(String.valueOf(verbose.getMessage()), verbose);
            }
        }
    }

    private Captured dump(boolean survivors, boolean verbose) throws CriuFailure {
        Path images = work.make("dump");
        Cgroup cgroup = cgroup();
        boolean dumped = false;
        try {
            ensureRoom(images);
        } catch (CrabException e) {
            WorkDirectory.delete(images);
            throw e;
        }
        try (CriuSession session = criu.session(processes.networkNamespace())) {
            DumpRequest request = new DumpRequest(processes.initPid(), images, processes.cgroup(), WATCH_PATHS);
            session.dump(
                    request,
                    (phase, pid) -> {
                        if (phase == CriuPhase.PRE_DUMP) {
                            freeze(cgroup);
                        } else if (phase == CriuPhase.POST_DUMP) {
                            whileHeldByCriu();
                        }
                    },
                    verbose);
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
            throw failed("it could not be thawed: " + e, e);
        } finally {
            criu.refill(processes.networkNamespace());
            if (!dumped) {
                thaw();
                WorkDirectory.delete(images);
                if (snapshot != null) {
                    snapshotter.delete(snapshot);
                    snapshot = null;
                }
            }
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
    private void whileHeldByCriu() {
        FaultPoints.reach("capture.dumped");
        Future<List<ProcessEntry>> reading = threads.submit(() -> ProcessTable.read(processes.initPid()));
        try {
            // Not judged again: no judgement could ask for more than a dump, and CRIU itself has just run in the
            // processes.
            takeSnapshot();
        } finally {
            table = CriuCheckpointEngine.await(reading);
        }
        checkComplete();
        ProcessTable.checkSessions(sandbox.id(), table);
        hook.taken();
    }

    private void checkNotTraced() {
        try {
            ProcessTable.checkNotTraced(sandbox.id(), ProcessTable.members(processes.cgroup()));
        } catch (IOException e) {
            throw failed("its processes cannot be listed: " + e, e);
        }
    }

    /** Whoever is in the sandbox's cgroup without descending from its pid 1 is not in the dump. */
    private void checkComplete() {
        try {
            int members = ProcessTable.members(processes.cgroup()).size();
            long living =
                    table.stream().filter(entry -> !entry.state().equals("Z")).count();
            if (members > living) {
                throw failed(members + " processes are in its cgroup, " + living + " descend from its pid 1", null);
            }
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

    /** A dump that finds the disk full half way has held the sandbox still for nothing. */
    private void ensureRoom(Path images) {
        long free;
        try {
            free = Files.getFileStore(images).getUsableSpace();
        } catch (IOException e) {
            WorkDirectory.delete(images);
            throw failed("the room for its dump cannot be told: " + e, e);
        }
        if (free < RESERVE) {
            WorkDirectory.delete(images);
            throw full(
                    free + " bytes are free for its dump at " + images + ", " + RESERVE + " are kept in reserve", null);
        }
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
