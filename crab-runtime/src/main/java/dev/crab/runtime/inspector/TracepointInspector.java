package dev.crab.runtime.inspector;

import dev.crab.runtime.error.CrabException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/**
 * The tracepoint tier: BPF programs on BTF tracepoints nominate what a turn may have changed, /proc and the upper layer tell whether it
 * did. Needs root, the kernel's BTF, libbpf 1.x and the cgroup v2 hierarchy. Thread-safe.
 */
public final class TracepointInspector implements TurnInspector {
    /** Stable name of this tier. */
    public static final String TIER = "tracepoint";

    private static final int CGROUP_LEVEL = 2;

    private final FilePolicy policy;
    private final Programs programs;
    private final Set<TracepointWatch> watches = new HashSet<>();
    private boolean closed;

    /** As {@link #TracepointInspector(FilePolicy)}, where every change of a file counts. */
    public TracepointInspector() {
        this(FilePolicy.EVERYTHING);
    }

    /**
     * Loads and attaches the programs.
     *
     * @throws CrabException LIBBPF_MISSING, BTF_MISSING, or BPF_REFUSED with libbpf's own words
     */
    public TracepointInspector(FilePolicy policy) {
        this(policy, Set.of());
    }

    /** @param withheld programs not to attach, to prove in tests that they are needed */
    TracepointInspector(FilePolicy policy, Set<String> withheld) {
        this.policy = policy;
        this.programs = new Programs(withheld);
    }

    Programs programs() {
        return programs;
    }

    @Override
    public String tier() {
        return TIER;
    }

    /** The target's cgroup must lie at {@code /crab/<id>} of the v2 hierarchy. Fails with IO_FAILED if it, or pid 1, is gone. */
    @Override
    public synchronized Watch watch(InspectionTarget target) {
        if (closed) {
            throw new IllegalStateException("the inspector is closed");
        }
        Path parent = target.cgroup().toAbsolutePath().normalize();
        for (int level = 0; level < CGROUP_LEVEL; level++) {
            parent = parent.getParent();
            if (parent == null) {
                break;
            }
        }
        if (parent == null
                || !Files.exists(parent.resolve("cgroup.controllers"))
                || Files.exists(parent.resolve("cgroup.events"))) {
            throw new IllegalArgumentException(target.cgroup() + " is not two levels below the root of cgroup v2");
        }
        try {
            TracepointWatch watch = new TracepointWatch(programs, target, policy, programs::missedRuns, this::closed);
            watches.add(watch);
            return watch;
        } catch (IOException e) {
            throw CrabException.io("sandbox " + target.sandboxId() + " cannot be inspected", e);
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            Set.copyOf(watches).forEach(TracepointWatch::close);
            programs.close();
        }
    }

    private synchronized void closed(TracepointWatch watch) {
        watches.remove(watch);
    }
}
