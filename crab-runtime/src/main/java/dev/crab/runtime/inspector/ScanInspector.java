package dev.crab.runtime.inspector;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.os.IpcNamespace;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The tier without programs in the kernel, for hosts that refuse them: at every boundary the whole writable layer is read and compared,
 * and so are the process set and the System V IPC objects. Thread-safe.
 *
 * <p>Nothing tells what a process that is still there has done, so every turn at whose end (or beginning) one is there counts as one that
 * changed processes. What a turn leaves without any process is files and IPC, and both are compared: a sandbox of Crab has no other
 * writable file system, and may not mount, change its kernel's settings, or leave its cgroup.
 */
public final class ScanInspector implements TurnInspector {
    /** Stable name of this tier. */
    public static final String TIER = "scan";

    private final FilePolicy policy;
    private final Set<ScanWatch> watches = ConcurrentHashMap.newKeySet();

    public ScanInspector(FilePolicy policy) {
        this.policy = policy;
    }

    @Override
    public String tier() {
        return TIER;
    }

    @Override
    public Watch watch(InspectionTarget target) {
        try {
            ScanWatch watch = new ScanWatch(target);
            watches.add(watch);
            return watch;
        } catch (IOException e) {
            throw CrabException.io("sandbox " + target.sandboxId() + " cannot be inspected", e);
        }
    }

    @Override
    public void close() {
        watches.forEach(ScanWatch::close);
    }

    private final class ScanWatch implements Watch {
        private final InspectionTarget target;
        private final UpperFiles files;
        private Set<ProcessRef> survivors = Set.of();
        private String ipc = "";
        private @Nullable String failure;

        /** Whether the last judgement found nothing: then what it read is the baseline, and no process is there to change it. */
        private boolean unchanged;

        ScanWatch(InspectionTarget target) throws IOException {
            this.target = target;
            this.files = new UpperFiles(target, policy);
            try {
                readBaseline();
            } catch (IOException | RuntimeException e) {
                files.close();
                throw e;
            }
        }

        private void readBaseline() throws IOException {
            survivors = Processes.list(target.cgroup(), target.initPid());
            ipc = IpcNamespace.objects(target.initPid());
            files.scan();
            files.rebase();
        }

        @Override
        public void begin() {
            // Nothing has to be attached.
        }

        @Override
        public synchronized TurnEffects judge() {
            unchanged = false;
            if (failure != null) {
                return failed(failure);
            }
            try {
                TurnEffects effects = TurnEffects.of(reasons());
                unchanged = effects.effect() == Effect.NONE;
                return effects;
            } catch (IOException | RuntimeException e) {
                return failed(CrabException.reason(e));
            }
        }

        private List<EffectReason> reasons() throws IOException {
            List<EffectReason> reasons = new ArrayList<>();
            Set<ProcessRef> present = Processes.list(target.cgroup(), target.initPid());
            if (!present.equals(survivors)) {
                reasons.add(new EffectReason("process-set-differs", Effect.PROCESSES, names(present)));
            }
            if (!present.isEmpty()) {
                reasons.add(new EffectReason("survivor-not-watched", Effect.PROCESSES, names(present)));
            }
            if (!ipc.equals(IpcNamespace.objects(target.initPid()))) {
                reasons.add(new EffectReason("ipc", Effect.PROCESSES, List.of("System V IPC objects")));
            }
            files.scan();
            List<FileChange> changes = files.changes(Set.of(), true);
            if (changes == null) {
                reasons.add(new EffectReason(
                        "too-many-files", Effect.FULL, List.of(target.upper().toString())));
            } else if (!changes.isEmpty()) {
                // Held by a process that lives on or not does not matter here: then there is a dump.
                boolean counts = changes.stream().anyMatch(FileChange::counts);
                reasons.add(new EffectReason(
                        counts ? "files-changed" : "files-ignored",
                        counts ? Effect.FILES : Effect.NONE,
                        changes.stream().map(FileChange::toString).toList()));
            }
            return reasons;
        }

        @Override
        public synchronized void rebase() {
            if (unchanged) {
                files.rebase();
                return;
            }
            try {
                readBaseline();
                failure = null;
            } catch (IOException | RuntimeException e) {
                failure = "the last rebase failed: " + CrabException.reason(e);
            }
        }

        private static TurnEffects failed(String why) {
            return TurnEffects.of(List.of(new EffectReason("inspection-failed", Effect.FULL, List.of(why))));
        }

        private static List<String> names(Set<ProcessRef> processes) {
            return processes.stream().limit(10).map(ProcessRef::toString).toList();
        }

        @Override
        public synchronized void close() {
            if (watches.remove(this)) {
                files.close();
            }
        }
    }
}
