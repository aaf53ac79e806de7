package dev.crab.runtime;

import dev.crab.runtime.engine.CheckpointEngine;
import dev.crab.runtime.engine.CriuCheckpointEngine;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.os.HostMemory;
import dev.crab.runtime.sandbox.RuncSandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.session.SandboxSessions;
import dev.crab.runtime.session.SessionServices;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileObjectStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;

/** The parts behind a runtime, made in the order in which they need each other and closed in the reverse. */
final class RuntimeParts implements AutoCloseable {
    private final Deque<AutoCloseable> made = new ArrayDeque<>();
    private final SandboxSessions sessions;

    private RuntimeParts(CrabConfig config) {
        boolean done = false;
        try {
            checkRoot();
            DataDirectory data = new DataDirectory(config.data()).prepare();
            Path criu = CrabRuntime.criu(config);
            TurnInspector inspector = config.inspector().open(config.files());
            made.push(inspector);
            Snapshotter snapshots = Snapshotters.open(config.data(), config.snapshotter());
            made.push(snapshots);
            SandboxFactory factory = new RuncSandboxFactory(config.data());
            CheckpointEngine engine =
                    CriuCheckpointEngine.open(config.data(), criu, snapshots, factory, new FileObjectStore(data));
            made.push(engine);
            SessionServices services = new SessionServices(
                    data,
                    factory,
                    snapshots,
                    engine,
                    inspector,
                    config.onUncaptured(),
                    config.onLost(),
                    config.onDamaged(),
                    config.keepGenerations(),
                    config.standby());
            sessions = new SandboxSessions(services, HostMemory::available, HostMemory.total());
            made.push(sessions);
            done = true;
        } finally {
            if (!done) {
                close();
            }
        }
    }

    static RuntimeParts make(CrabConfig config) {
        return new RuntimeParts(config);
    }

    SandboxSessions sessions() {
        return sessions;
    }

    private static void checkRoot() {
        if (!System.getProperty("os.name", "").equals("Linux")) {
            throw CrabException.of(
                    ErrorCode.PLATFORM_UNSUPPORTED,
                    "sandboxes cannot be made",
                    "this is " + System.getProperty("os.name"),
                    "run it on Linux, in a virtual machine for instance");
        }
        try {
            if (!Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))) {
                throw CrabException.of(
                        ErrorCode.NOT_ROOT,
                        "sandboxes cannot be made",
                        "this process does not run as root",
                        "run it as root, for instance by sudo");
            }
        } catch (IOException e) {
            throw CrabException.io("this process's privileges cannot be read", e);
        }
    }

    @Override
    public void close() {
        RuntimeException first = null;
        for (AutoCloseable part : made) {
            try {
                part.close();
            } catch (Exception e) {
                RuntimeException problem = e instanceof RuntimeException runtime
                        ? runtime
                        : CrabException.of(
                                ErrorCode.INTERNAL,
                                "the runtime cannot be closed",
                                e.toString(),
                                "report this as a fault of Crab",
                                e);
                if (first == null) {
                    first = problem;
                } else {
                    first.addSuppressed(problem);
                }
            }
        }
        made.clear();
        if (first != null) {
            throw first;
        }
    }
}
