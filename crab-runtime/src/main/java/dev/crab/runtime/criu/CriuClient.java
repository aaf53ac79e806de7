package dev.crab.runtime.criu;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts CRIU processes, and keeps one idle for each network namespace that asks for it: starting one takes longer than a small dump,
 * and CRIU serves one request per process. Thread-safe.
 */
public final class CriuClient implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CriuClient.class);

    private final Path binary;
    private final CriuFeatures features;
    private final Map<Path, Worker> idle = new ConcurrentHashMap<>();
    private final ExecutorService starter = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "crab-criu-starter");
        thread.setDaemon(true);
        return thread;
    });
    private volatile boolean closed;

    /** The idle process of one namespace; holds none while the next one is being started. */
    private static final class Worker {
        private @Nullable CriuSession session;
        private long inode;
        private boolean closed;
    }

    private CriuClient(Path binary, CriuFeatures features) {
        this.binary = binary;
        this.features = features;
    }

    /**
     * Checks a CRIU binary.
     *
     * @throws CrabException CRIU_MISSING if it is no executable file, CRIU_UNUSABLE if it is too old or does not answer
     */
    public static CriuClient open(Path binary) {
        if (!Files.isRegularFile(binary) || !Files.isExecutable(binary)) {
            throw CrabException.of(
                    ErrorCode.CRIU_MISSING,
                    "processes cannot be checkpointed",
                    binary + " is not an executable file",
                    "run ./crab setup, or name a CRIU binary (crab.criu, CRAB_CRIU)");
        }
        CriuFeatures features;
        try (CriuSession session = CriuSession.start(binary)) {
            features = session.version();
        } catch (IOException | CriuFailure e) {
            throw unusable(binary + " does not answer: " + CrabException.reason(e), e);
        }
        if (!features.isSufficient()) {
            throw unusable(
                    binary + " is version " + features.version() + ", and " + CriuFeatures.MINIMUM.version()
                            + " is needed",
                    null);
        }
        return new CriuClient(binary, features);
    }

    /** Fails with CRIU_MISSING if nothing of that name is in the path variable's directories. */
    public static Path find(String pathVariable) {
        for (String directory : pathVariable.split(":", -1)) {
            Path candidate = Path.of(directory.isEmpty() ? "." : directory, "criu");
            if (Files.isRegularFile(candidate) && Files.isExecutable(candidate)) {
                return candidate.toAbsolutePath();
            }
        }
        throw CrabException.of(
                ErrorCode.CRIU_MISSING,
                "processes cannot be checkpointed",
                "no criu is in " + pathVariable,
                "run ./crab setup, or name a CRIU binary (crab.criu, CRAB_CRIU)");
    }

    private static CrabException unusable(String why, @Nullable Throwable cause) {
        String what = "processes cannot be checkpointed";
        String cure = "run ./crab setup, which builds a CRIU that works";
        return cause == null
                ? CrabException.of(ErrorCode.CRIU_UNUSABLE, what, why, cure)
                : CrabException.of(ErrorCode.CRIU_UNUSABLE, what, why, cure, cause);
    }

    public CriuFeatures features() {
        return features;
    }

    /** Keeps a process ready in that network namespace from now on. Idempotent. */
    public void keepReady(Path networkNamespace) {
        if (!closed) {
            refill(networkNamespace, idle.computeIfAbsent(networkNamespace, key -> new Worker()));
        }
    }

    /** Ends what {@link #keepReady} keeps for that network namespace. Idempotent. */
    public void release(Path networkNamespace) {
        Worker worker = idle.remove(networkNamespace);
        if (worker != null) {
            close(worker);
        }
    }

    /** A process in that network namespace: the one that is ready, else a new one. The caller closes it. */
    public CriuSession session(Path networkNamespace) throws CriuFailure {
        Worker worker = idle.get(networkNamespace);
        if (worker != null) {
            CriuSession ready;
            synchronized (worker) {
                ready = worker.session;
                worker.session = null;
            }
            if (ready != null) {
                if (ready.isAlive() && worker.inode == inode(networkNamespace)) {
                    return ready;
                }
                ready.close();
            }
        }
        return start(networkNamespace);
    }

    /** After a session was used up: starts the next one for that network namespace in the background, if one is to be kept ready. */
    public void refill(Path networkNamespace) {
        Worker worker = idle.get(networkNamespace);
        if (worker != null) {
            refill(networkNamespace, worker);
        }
    }

    private void refill(Path networkNamespace, Worker worker) {
        starter.execute(() -> {
            try {
                synchronized (worker) {
                    if (worker.session == null && !worker.closed) {
                        worker.inode = inode(networkNamespace);
                        worker.session = start(networkNamespace);
                    }
                }
            } catch (CriuFailure e) {
                // Whoever needs one will start it, and fail for whoever asked.
                LOG.debug("no CRIU could be kept ready for {}", networkNamespace, e);
            }
        });
    }

    /** Tells a namespace from another one that has got its name since; -1 if there is none. */
    private static long inode(Path networkNamespace) {
        try {
            return (long) Files.getAttribute(networkNamespace, "unix:ino");
        } catch (IOException e) {
            return -1;
        }
    }

    private CriuSession start(Path networkNamespace) throws CriuFailure {
        try {
            return CriuSession.start(binary, networkNamespace);
        } catch (IOException e) {
            throw new CriuFailure(
                    CriuFailure.Kind.NOT_BEGUN, binary + " cannot be started: " + CrabException.reason(e), e);
        }
    }

    private static void close(Worker worker) {
        synchronized (worker) {
            worker.closed = true;
            if (worker.session != null) {
                worker.session.close();
                worker.session = null;
            }
        }
    }

    /** Ends all idle processes. Idempotent. */
    @Override
    public void close() {
        closed = true;
        idle.keySet().forEach(this::release);
        starter.shutdown();
    }
}
