package dev.crab.runtime.engine;

import dev.crab.runtime.criu.CriuClient;
import dev.crab.runtime.criu.DumpFingerprint;
import dev.crab.runtime.criu.MemorySample;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.CheckpointImage;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.ObjectStore;
import dev.crab.runtime.store.PageObjects;
import dev.crab.runtime.store.PageObjects.Packed;
import dev.crab.runtime.store.ProcessImage;
import dev.crab.runtime.store.SampledPage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The engine that dumps by CRIU and takes snapshots by a {@link Snapshotter}. Thread-safe.
 *
 * <p>Images of a dump go into memory or to a work directory under the data directory, on its page cache ({@link DumpRoom}): nothing
 * there is flushed, and after the sandbox runs again they are packed into one object and deleted.
 */
public final class CriuCheckpointEngine implements CheckpointEngine {
    private static final Logger LOG = LoggerFactory.getLogger(CriuCheckpointEngine.class);

    private final CriuClient criu;
    private final Snapshotter snapshotter;
    private final SandboxFactory sandboxes;
    private final ObjectStore objects;
    private final PageObjects pages;
    private final SharedImages shared;
    private final DumpRoom room;
    private final ExecutorService threads;
    private final Map<String, Path> attached = new ConcurrentHashMap<>();
    private final Set<Captured> open = ConcurrentHashMap.newKeySet();

    private CriuCheckpointEngine(
            CriuClient criu, Snapshotter snapshotter, SandboxFactory sandboxes, ObjectStore objects, Path data) {
        this.criu = criu;
        this.snapshotter = snapshotter;
        this.sandboxes = sandboxes;
        this.objects = objects;
        this.room = new DumpRoom(data.resolve("work"), DumpRoom.MEMORY);
        AtomicInteger number = new AtomicInteger();
        this.threads = Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task, "crab-engine-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
        this.pages = new PageObjects(objects, threads);
        this.shared = new SharedImages(pages);
    }

    /**
     * Makes an engine.
     *
     * @param data data directory; temporary files go below it, and what engines of dead processes left there is removed
     * @param criuBinary the CRIU to use
     * @throws CrabException CRIU_MISSING, CRIU_UNUSABLE or IO_FAILED
     */
    public static CriuCheckpointEngine open(
            Path data, Path criuBinary, Snapshotter snapshotter, SandboxFactory sandboxes, ObjectStore objects) {
        return new CriuCheckpointEngine(CriuClient.open(criuBinary), snapshotter, sandboxes, objects, data);
    }

    @Override
    public void attach(RunningSandbox sandbox) {
        Path namespace = sandbox.processes().networkNamespace();
        attached.put(sandbox.id(), namespace);
        criu.keepReady(namespace);
    }

    @Override
    public void detach(String sandboxId) {
        Path namespace = attached.remove(sandboxId);
        if (namespace != null) {
            criu.release(namespace);
        }
    }

    @Override
    public Captured capture(RunningSandbox sandbox, CheckpointPlan plan, FrozenHook hook) {
        FaultPoints.reach("capture.begin");
        Captured captured = new Capture(criu, snapshotter, room, threads, sandbox, plan, hook).run();
        FaultPoints.reach("capture.resumed");
        open.add(captured);
        return captured;
    }

    @Override
    public Persisted persist(Captured captured, long generation) {
        long begin = System.nanoTime();
        if (captured.state.get() != Captured.State.OPEN) {
            throw new IllegalStateException("capture was persisted or discarded already");
        }
        String id = captured.snapshot().id();
        CheckpointImage previous = captured.plan().previous();
        // The two halves work on different things, one mostly on the disk and one on the processor.
        Future<FileTable.Written> files = threads.submit(() -> {
            FileTable.Written table = FileTable.write(
                    objects,
                    id + ".files",
                    captured.snapshot().upper(),
                    captured.takenAt(),
                    previous == null ? null : previous.files());
            snapshotter.makeDurable(captured.snapshot());
            return table;
        });
        ProcessImage processes;
        FileTable.Written table;
        long written = 0;
        try {
            Captured.Dump dump = captured.dump();
            ProcessImage earlier = previous == null || captured.plan().processesGivenUp() ? null : previous.processes();
            if (dump == null) {
                processes = captured.survivors() ? earlier : null;
            } else {
                String fingerprint = captured.plan().mayEqualPrevious() ? fingerprint(dump) : "";
                if (earlier != null && earlier.isSameAs(dump.processes(), fingerprint)) {
                    // The processes only ran, and are as they were: the dump that there is serves as well.
                    processes = earlier;
                } else {
                    processes = pack(captured, dump, generation, fingerprint);
                    written += processes.dump().length();
                }
            }
        } finally {
            table = await(files);
        }
        written += table.ref().length();
        FaultPoints.reach("persist.objects");
        captured.state.set(Captured.State.PERSISTED);
        open.remove(captured);
        Captured.Dump dumped = captured.dump();
        if (dumped != null) {
            WorkDirectory.deleteSoon(dumped.images(), threads);
        }
        FileImage fileImage = new FileImage(generation, id, table.ref(), table.bases(), table.entries());
        return new Persisted(new CheckpointImage(processes, fileImage), written, System.nanoTime() - begin);
    }

    private ProcessImage pack(Captured captured, Captured.Dump dump, long generation, String fingerprint) {
        CheckpointImage previous = captured.plan().previous();
        Packed packed = DumpFile.pack(
                pages,
                captured.snapshot().id() + ".dump",
                dump.images(),
                previous == null ? null : previous.processes(),
                captured.plan().neighbours().get());
        FaultPoints.reach("persist.packed");
        return new ProcessImage(
                generation,
                packed.object(),
                packed.bases(),
                dump.processes(),
                sample(captured, dump),
                criu.features().version(),
                System.getProperty("os.version", "unknown"),
                fingerprint);
    }

    /** Where none can be taken the dump is not what CRIU writes, and must not be trusted with a turn. */
    private static List<SampledPage> sample(Captured captured, Captured.Dump dump) {
        try {
            return MemorySample.of(dump.images()).stream()
                    .map(page -> new SampledPage(page.pid(), page.address(), page.sha256()))
                    .toList();
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.CAPTURE_FAILED,
                    "the dump " + captured.snapshot().id() + " cannot be saved",
                    "its images cannot be read: " + CrabException.reason(e),
                    "commit the turn again",
                    e);
        }
    }

    private static String fingerprint(Captured.Dump dump) {
        try {
            return DumpFingerprint.of(dump.images());
        } catch (IOException e) {
            LOG.debug("a dump's fingerprint cannot be taken, so that it equals no other", e);
            return "";
        }
    }

    @Override
    public void discard(Captured captured) {
        if (captured.state.compareAndSet(Captured.State.OPEN, Captured.State.DISCARDED)) {
            open.remove(captured);
            Captured.Dump dump = captured.dump();
            if (dump != null) {
                WorkDirectory.delete(dump.images());
            }
            snapshotter.delete(captured.snapshot());
        }
    }

    @Override
    public ParkedSandbox park(String sandboxId, SandboxSpec spec, CheckpointImage image, RestoreHook hook) {
        FaultPoints.reach("restore.begin");
        ParkedSandbox parked = new Restore(
                        criu, snapshotter, sandboxes, objects, shared, room, threads, sandboxId, spec, image, hook)
                .park();
        // It may have left a CRIU ready, which has to go with the sandbox.
        attached.put(sandboxId, parked.processes().networkNamespace());
        return parked;
    }

    @Override
    public void close() {
        attached.keySet().forEach(this::detach);
        open.forEach(this::discard);
        criu.close();
        threads.shutdown();
        room.close();
    }

    /** What a task of the engine's own threads came to; its failure comes out as it was thrown. */
    static <T> T await(Future<T> future) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return future.get();
                } catch (InterruptedException e) {
                    // The task works on things that the caller is going to delete: it has to end first.
                    interrupted = true;
                } catch (ExecutionException e) {
                    throw failure(e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static RuntimeException failure(@Nullable Throwable cause) {
        if (cause instanceof CrabException refusal) {
            return refusal;
        }
        if (cause instanceof Error error) {
            throw error;
        }
        String why = String.valueOf(cause);
        return cause == null
                ? CrabException.of(ErrorCode.INTERNAL, "the engine failed", why, "report this")
                : CrabException.of(ErrorCode.INTERNAL, "the engine failed", why, "report this", cause);
    }
}
