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
    private final Set<TouchedObjects> expected = new HashSet<>();
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
    public Watch watch(InspectionTarget target) {
        Expected soon = expect(target.cgroup());
        boolean watched = false;
        try {
            Watch watch = soon.watch(target);
            watched = true;
            return watch;
        } finally {
            if (!watched) {
                soon.close();
            }
        }
    }

    /** As {@link #watch}. */
    @Override
    public synchronized Expected expect(Path cgroup) {
        if (closed) {
            throw new IllegalStateException("the inspector is closed");
        }
        check(cgroup);
        try {
            TouchedObjects objects = new TouchedObjects(programs, cgroup);
            expected.add(objects);
            return new Expected() {
                @Override
                public Watch watch(InspectionTarget target) {
                    return TracepointInspector.this.watch(target, objects);
                }

                @Override
                public void close() {
                    giveUp(objects);
                }
            };
        } catch (IOException e) {
            throw CrabException.io("the cgroup " + cgroup + " cannot be watched", e);
        }
    }

    private static void check(Path cgroup) {
        Path parent = cgroup.toAbsolutePath().normalize();
        for (int level = 0; level < CGROUP_LEVEL; level++) {
            parent = parent.getParent();
            if (parent == null) {
                break;
            }
        }
        if (parent == null
                || !Files.exists(parent.resolve("cgroup.controllers"))
                || Files.exists(parent.resolve("cgroup.events"))) {
            throw new IllegalArgumentException(cgroup + " is not two levels below the root of cgroup v2");
        }
    }

    private synchronized Watch watch(InspectionTarget target, TouchedObjects objects) {
        if (!expected.contains(objects)) {
            throw new IllegalStateException("sandbox " + target.sandboxId() + " is not expected any more");
        }
        try {
            TracepointWatch watch =
                    new TracepointWatch(programs, target, policy, programs::missedRuns, objects, this::closed);
            watches.add(watch);
            expected.remove(objects);
            return watch;
        } catch (IOException e) {
            throw CrabException.io("sandbox " + target.sandboxId() + " cannot be inspected", e);
        }
    }

    @Override
    public void close() {
        Set<TracepointWatch> open;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            open = Set.copyOf(watches);
        }
        // A watch that somebody else is closing tells this inspector so under its own lock, and waits for this one's.
        open.forEach(TracepointWatch::close);
        synchronized (this) {
            Set.copyOf(expected).forEach(this::giveUp);
            programs.close();
        }
    }

    private synchronized void giveUp(TouchedObjects objects) {
        if (expected.remove(objects)) {
            objects.close();
        }
    }

    private synchronized void closed(TracepointWatch watch) {
        watches.remove(watch);
    }
}
