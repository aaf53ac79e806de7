package dev.crab.runtime.engine;

import dev.crab.runtime.criu.CriuClient;
import dev.crab.runtime.criu.CriuFailure;
import dev.crab.runtime.criu.CriuPhase;
import dev.crab.runtime.criu.CriuSession;
import dev.crab.runtime.criu.RestoreRequest;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.os.Cgroup;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.os.ChildProcess;
import dev.crab.runtime.os.HostMemory;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory.Place;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxProcesses;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.snapshot.Volume;
import dev.crab.runtime.store.CheckpointImage;
import dev.crab.runtime.store.ObjectStore;
import dev.crab.runtime.store.ProcessImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One restore. Used once, by one thread.
 *
 * <p>The restored processes are caught before they run: at CRIU's last stop before it lets them go, the sandbox's cgroup is told to
 * freeze, so that each process stops on its way out of the kernel. There it is compared with what was dumped. (CRIU itself does not turn
 * back at that stop, whatever it is answered.)
 */
final class Restore {
    private static final Logger LOG = LoggerFactory.getLogger(Restore.class);
    private static final Duration END = Duration.ofSeconds(10);

    /** Images hold no more than the processes' memory and the ghost files, of which CRIU bounds each: room for many. */
    private static final long IMAGES_BEYOND_MEMORY = 16L << 30;

    private final CriuClient criu;
    private final Snapshotter snapshotter;
    private final SandboxFactory sandboxes;
    private final ObjectStore objects;
    private final SharedImages shared;
    private final DumpRoom room;
    private final ExecutorService threads;
    private final String sandboxId;
    private final SandboxSpec spec;
    private final CheckpointImage image;
    private final RestoreHook hook;
    private final long begin = System.nanoTime();

    private @Nullable Future<CriuSession> joining;
    private @Nullable Future<Boolean> leaving;
    private @Nullable Cgroup cgroup;
    private int init;
    private long verifyNanos;

    Restore(
            CriuClient criu,
            Snapshotter snapshotter,
            SandboxFactory sandboxes,
            ObjectStore objects,
            SharedImages shared,
            DumpRoom room,
            ExecutorService threads,
            String sandboxId,
            SandboxSpec spec,
            CheckpointImage image,
            RestoreHook hook) {
        this.criu = criu;
        this.snapshotter = snapshotter;
        this.sandboxes = sandboxes;
        this.objects = objects;
        this.shared = shared;
        this.room = room;
        this.threads = threads;
        this.sandboxId = sandboxId;
        this.spec = spec;
        this.image = image;
        this.hook = hook;
    }

    /** Everything but letting it go. */
    ParkedSandbox park() {
        Path lower = sandboxes.resolve(spec.image());
        Snapshot snapshot = snapshotter.find(image.files().snapshotId());
        ProcessImage processes = image.processes();
        Path images = room.forRestore();
        Volume volume = null;
        Place place = null;
        boolean restored = false;
        try {
            long files;
            // It takes longest, so that everything else goes on beside it.
            Future<Path> unpacking = threads.submit(() -> unpack(processes, images));
            try {
                volume = snapshotter.createVolume(sandboxId, snapshot);
                FaultPoints.reach("restore.volume");
                Place prepared = sandboxes.prepare(sandboxId, spec, volume);
                place = prepared;
                hook.placed(prepared.cgroup());
                if (processes != null) {
                    joining = threads.submit(() -> join(prepared));
                }
                // Before anything is mounted from the volume: mounting an overlay tidies up in its work directory,
                // and with it the link counts of whiteouts.
                long verifying = System.nanoTime();
                files = FileTable.verify(objects, image.files(), volume.upper());
                verifyNanos += System.nanoTime() - verifying;
                prepared.mount();
                FaultPoints.reach("restore.placed");
            } finally {
                CriuCheckpointEngine.await(unpacking);
            }
            FaultPoints.reach("restore.prepared");
            long prepared = System.nanoTime();
            RunningSandbox started = null;
            SandboxProcesses alive;
            if (processes == null) {
                started = start(place);
                alive = started.processes();
            } else {
                alive = restoreProcesses(place, processes, images, new Where(lower, volume));
            }
            long end = System.nanoTime();
            restored = true;
            return new Parked(place, alive, started, files, prepared - begin, end - prepared);
        } finally {
            try {
                if (!restored) {
                    undo(place, volume);
                }
            } finally {
                if (processes != null) {
                    shared.done(processes, images);
                }
                if (restored) {
                    WorkDirectory.deleteSoon(images, threads);
                } else {
                    WorkDirectory.delete(images);
                }
            }
        }
    }

    /** The sandbox that this restore has made, held still if it has more than a fresh pid 1. */
    private final class Parked implements ParkedSandbox {
        private final Place place;
        private final SandboxProcesses processes;
        private final @Nullable RunningSandbox started;
        private final long files;
        private final long prepareNanos;
        private final long processNanos;
        private boolean over;

        Parked(
                Place place,
                SandboxProcesses processes,
                @Nullable RunningSandbox started,
                long files,
                long prepareNanos,
                long processNanos) {
            this.place = place;
            this.processes = processes;
            this.started = started;
            this.files = files;
            this.prepareNanos = prepareNanos;
            this.processNanos = processNanos;
        }

        @Override
        public SandboxProcesses processes() {
            return processes;
        }

        @Override
        public long memory() {
            return HostMemory.of(processes.cgroup());
        }

        @Override
        public synchronized RestoreResult resume() {
            if (over) {
                throw new IllegalStateException("it was let go or given up already");
            }
            over = true;
            long resuming = System.nanoTime();
            boolean running = false;
            try {
                RunningSandbox sandbox = started == null ? letGo() : started;
                running = true;
                ProcessImage saved = image.processes();
                return new RestoreResult(
                        sandbox,
                        saved == null ? 0 : saved.processes().size(),
                        files,
                        prepareNanos,
                        processNanos + System.nanoTime() - resuming,
                        verifyNanos);
            } finally {
                if (!running) {
                    undo(place, processes.volume());
                }
            }
        }

        private RunningSandbox letGo() {
            try {
                Objects.requireNonNull(cgroup).thaw();
            } catch (IOException e) {
                throw unwatchable(e);
            }
            return place.adopt(processes.initPid());
        }

        @Override
        public synchronized void close() {
            if (!over) {
                over = true;
                if (started != null) {
                    started.close();
                }
                undo(place, processes.volume());
            }
        }
    }

    /** A CRIU in the sandbox's cgroups, so that what it restores is born there. Each takes some ms, for the kernel waits for all processors. */
    private CriuSession join(Place place) {
        CriuSession session = null;
        boolean joined = false;
        try {
            session = criu.session(place.networkNamespace());
            session.join(place.allCgroups());
            joined = true;
            return session;
        } catch (CriuFailure e) {
            throw failed(e);
        } finally {
            if (!joined && session != null) {
                session.close();
            }
        }
    }

    private CrabException failed(CriuFailure failure) {
        ProcessImage processes = Objects.requireNonNull(image.processes());
        return CrabException.of(
                ErrorCode.RESTORE_FAILED,
                "processes of sandbox " + sandboxId + " cannot be restored",
                String.valueOf(failure.getMessage()),
                "restore an earlier generation; the dump was written by CRIU " + processes.criuVersion() + " on kernel "
                        + processes.kernel(),
                failure);
    }

    /** What the host's view of the sandbox needs beside its place. */
    private record Where(Path lower, Volume volume) {}

    private Path unpack(@Nullable ProcessImage processes, Path images) {
        if (processes != null) {
            shared.unpack(processes, images, spec.memoryLimit() + IMAGES_BEYOND_MEMORY);
            FaultPoints.reach("restore.unpacked");
        }
        return images;
    }

    private RunningSandbox start(Place place) {
        RunningSandbox sandbox = place.start();
        FaultPoints.reach("restore.verified");
        hook.beforeResume(sandbox.processes());
        return sandbox;
    }

    private SandboxProcesses restoreProcesses(Place place, ProcessImage processes, Path images, Where where) {
        Future<CriuSession> ready = Objects.requireNonNull(joining);
        joining = null;
        try (CriuSession session = CriuCheckpointEngine.await(ready)) {
            session.restore(
                    new RestoreRequest(images, place.mount()),
                    (phase, pid) -> {
                        init = pid > 0 ? pid : init;
                        if (phase == CriuPhase.SETUP_NAMESPACES) {
                            // Pid 1 is in the cgroup, and all others descend from it.
                            leaving = threads.submit(() -> leave(session.pid()));
                        } else if (phase == CriuPhase.PRE_RESUME) {
                            hold(place);
                        }
                    },
                    false);
        } catch (CriuFailure e) {
            throw failed(e);
        }
        try {
            cgroup = Cgroups.detect().group(place.cgroup().getFileName().toString());
            cgroup.freeze();
            FaultPoints.reach("restore.processes");
            long verifying = System.nanoTime();
            verify(processes, ProcessTable.of(init, FileLocks.areIn(processes.processes())));
            verifyNanos += System.nanoTime() - verifying;
            FaultPoints.reach("restore.verified");
            SandboxProcesses alive = new SandboxProcesses(
                    init, place.cgroup(), place.networkNamespace(), place.mount(), where.lower(), where.volume());
            hook.beforeResume(alive);
            return alive;
        } catch (IOException e) {
            throw unwatchable(e);
        }
    }

    private CrabException unwatchable(IOException e) {
        return CrabException.of(
                ErrorCode.RESTORE_FAILED,
                "processes of sandbox " + sandboxId + " cannot be restored",
                "what was restored cannot be looked at: " + e,
                "restore again",
                e);
    }

    /** CRIU must be out of the cgroup before that is frozen, or it would freeze with the rest. */
    private boolean leave(int criuPid) {
        try {
            Files.writeString(ownCgroup().resolve("cgroup.procs"), Integer.toString(criuPid));
            return true;
        } catch (IOException e) {
            throw notHeld(e);
        }
    }

    /** CRIU has done all but letting go. */
    private void hold(Place place) {
        try {
            CriuCheckpointEngine.await(Objects.requireNonNull(leaving));
            Files.writeString(place.cgroup().resolve("cgroup.freeze"), "1");
        } catch (IOException e) {
            throw notHeld(e);
        }
    }

    private CrabException notHeld(IOException failure) {
        return CrabException.of(
                ErrorCode.RESTORE_FAILED,
                "processes of sandbox " + sandboxId + " cannot be restored",
                "they cannot be held still: " + failure,
                "restore again",
                failure);
    }

    /** This process's own cgroup in the v2 hierarchy. */
    private static Path ownCgroup() throws IOException {
        Path mount = Cgroups.detect().unified();
        for (String line : Files.readAllLines(Path.of("/proc/self/cgroup"))) {
            if (line.startsWith("0::/")) {
                Path own = mount.resolve(line.substring("0::/".length()));
                return Files.isDirectory(own) ? own : mount;
            }
        }
        return mount;
    }

    private void verify(ProcessImage expected, ProcessTable found) throws IOException {
        List<String> differences = ProcessTable.differences(expected.processes(), found.entries());
        if (differences.isEmpty()) {
            differences = MemoryCheck.differences(expected.sample(), found.hostPids());
        }
        if (differences.isEmpty()) {
            return;
        }
        if (FileLocks.areIn(expected.processes()) && !criu.features().locksAfterMappings()) {
            // No damage, by which turns would be given up: the checkpoint is whole, and another CRIU brings it back.
            throw CrabException.of(
                    ErrorCode.CRIU_UNUSABLE,
                    "the processes of sandbox " + sandboxId + " cannot be restored by this CRIU",
                    "they hold locks of files, which it loses where the file is mapped as well: "
                            + String.join("; ", differences),
                    "use the CRIU that ./crab setup builds (unset CRAB_CRIU)");
        }
        throw CrabException.of(
                ErrorCode.RESTORE_MISMATCH,
                "the processes of sandbox " + sandboxId + " are not those that were saved",
                String.join("; ", differences),
                "restore an earlier generation");
    }

    /** Nothing of a failed restore stays: first the processes, then what they stood on. */
    private void undo(@Nullable Place place, @Nullable Volume volume) {
        try {
            if (joining != null) {
                leaveAlone(joining);
            }
            if (place != null) {
                place.close();
            }
            if (init > 0 && ChildProcess.of(init).waitFor(END).isEmpty()) {
                LOG.warn("pid 1 of sandbox {} (host pid {}) does not end", sandboxId, init);
            }
        } finally {
            if (volume != null) {
                snapshotter.delete(volume);
            }
        }
    }

    private static void leaveAlone(Future<CriuSession> joining) {
        try {
            CriuCheckpointEngine.await(joining).close();
        } catch (CrabException e) {
            LOG.debug("no CRIU was there to be ended", e);
        }
    }
}
