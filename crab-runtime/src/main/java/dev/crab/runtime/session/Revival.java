package dev.crab.runtime.session;

import dev.crab.runtime.engine.LostProcesses;
import dev.crab.runtime.engine.ParkedSandbox;
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
import dev.crab.runtime.snapshot.Volume;
import dev.crab.runtime.store.LostProcess;
import dev.crab.runtime.store.Manifest;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One sandbox of a session as it comes to be, watched from before anything in it runs. Used once, by one thread; whatever fails leaves
 * nothing behind.
 */
final class Revival {
    private final SessionServices services;
    private final String session;
    private final String sandboxId;
    private TurnInspector.@Nullable Watch watch;

    Revival(SessionServices services, String session, String sandboxId) {
        this.services = services;
        this.session = session;
        this.sandboxId = sandboxId;
    }

    /**
     * A sandbox that runs.
     *
     * @param processes how many came back from a dump
     * @param filesVerified entries of the file table that were found as recorded
     * @param verifyNanos how long it took to compare it with what was saved
     */
    record Alive(
            RunningSandbox sandbox, TurnInspector.Watch watch, int processes, long filesVerified, long verifyNanos) {
        /**
         * Makes it the session's: from here on whoever uses it between turns is watched as well, for what a process does that begins and
         * ends there is seen only while calls are.
         *
         * @param attributes what is carried by value
         * @param manifest of the turn it is at; null for the image as it came
         * @return what could not be captured and was started again
         */
        List<LostProcess> takeUp(
                SessionServices services, String session, Map<String, String> attributes, @Nullable Manifest manifest) {
            sandbox.beforeRequests(watch::begin);
            sandbox.attributes().putAll(attributes);
            List<LostProcess> restarted = manifest == null || services.onLost() == LostPolicy.REPORT
                    ? List.of()
                    : LostProcesses.restart(session, sandbox, manifest.lostProcesses());
            services.engine().attach(sandbox);
            return restarted;
        }

        /** Ends it, and removes everything of it but what is in the store. */
        void end(SessionServices services) {
            end(services, "close.stopped");
        }

        /** @param stopped fault point between the end of its processes and that of its files */
        void end(SessionServices services, String stopped) {
            sandbox.beforeRequests(() -> {});
            watch.close();
            services.engine().detach(sandbox.id());
            sandbox.close();
            FaultPoints.reach(stopped);
            services.snapshots().delete(sandbox.processes().volume());
        }
    }

    /** One that is held still, restored and checked. */
    final class Held implements AutoCloseable {
        private final ParkedSandbox parked;
        private final TurnInspector.Watch watching;

        private Held(ParkedSandbox parked, TurnInspector.Watch watching) {
            this.parked = parked;
            this.watching = watching;
        }

        /** Bytes of memory that its processes have. */
        long memory() {
            return parked.memory();
        }

        Alive resume() {
            boolean done = false;
            try {
                RestoreResult result = parked.resume();
                done = true;
                return new Alive(
                        result.sandbox(),
                        watching,
                        result.processesRestored(),
                        result.filesVerified(),
                        result.verifyNanos());
            } finally {
                if (!done) {
                    forget();
                }
            }
        }

        /** Gives it up. */
        @Override
        public void close() {
            try {
                parked.close();
            } finally {
                forget();
            }
        }

        private void forget() {
            Quietly.all(session, watching::close, () -> services.engine().detach(sandboxId));
        }
    }

    /** A fresh one, of the image as it came. */
    Alive start(SandboxSpec spec) {
        Volume volume = services.snapshots().createVolume(sandboxId);
        RunningSandbox running = null;
        boolean done = false;
        try {
            SandboxFactory.Place place = services.factory().prepare(sandboxId, spec, volume);
            try (Observation observation = new Observation()) {
                observation.placed(place.cgroup());
                running = place.start();
                observation.beforeResume(running.processes());
                done = true;
                return new Alive(running, watch(), 0, 0, 0);
            } finally {
                if (!done) {
                    place.close();
                }
            }
        } finally {
            if (!done) {
                unwatch();
                Quietly.all(session, () -> services.snapshots().delete(volume));
            }
        }
    }

    /** One as a manifest has it, held still. */
    Held park(SandboxSpec spec, Manifest manifest) {
        boolean done = false;
        try (Observation observation = new Observation()) {
            ParkedSandbox parked = services.engine().park(sandboxId, spec, manifest.checkpoint(), observation);
            try {
                Held held = new Held(parked, watch());
                done = true;
                return held;
            } finally {
                if (!done) {
                    Quietly.all(session, parked::close, () -> services.engine().detach(sandboxId));
                }
            }
        } finally {
            if (!done) {
                unwatch();
            }
        }
    }

    private void unwatch() {
        TurnInspector.Watch opened = watch;
        watch = null;
        if (opened != null) {
            Quietly.all(session, opened::close);
        }
    }

    private TurnInspector.Watch watch() {
        if (watch == null) {
            throw CrabException.of(
                    ErrorCode.INTERNAL,
                    "a sandbox of session " + session + " cannot be used",
                    "the restore did not say when to watch",
                    "report this as a fault of Crab");
        }
        return watch;
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
            watch = Objects.requireNonNull(expected)
                    .watch(new InspectionTarget(
                            sandboxId,
                            processes.cgroup(),
                            processes.initPid(),
                            processes.volume().upper(),
                            processes.lower(),
                            processes.volume().scratch()));
        }

        @Override
        public void close() {
            if (expected != null) {
                expected.close();
            }
        }
    }
}
