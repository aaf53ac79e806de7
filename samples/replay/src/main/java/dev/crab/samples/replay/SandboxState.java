package dev.crab.samples.replay;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What a sandbox is like at one moment, seen from the host: every entry of its writable layer, and every process.
 *
 * @param files by path
 * @param processes by pid within the sandbox
 */
record SandboxState(SortedMap<String, Entry> files, SortedMap<Integer, Task> processes) {
    /**
     * An entry of the layer.
     *
     * @param what type, mode, owner, and digest, target or device number
     * @param modified in nanoseconds since 1970 UTC
     * @param changed of the inode, likewise
     */
    record Entry(String what, long modified, long changed) {
        boolean isDirectory() {
            return what.matches("4[0-7]{4} .*");
        }
    }

    /**
     * A process, by pids of the sandbox.
     *
     * @param what parent, group, session, whether it is stopped or dead, working directory, command
     * @param parent its pid
     * @param started in clock ticks since the host's boot
     */
    record Task(String what, int parent, long started) {}

    /** Which times of modification are compared. */
    enum Times {
        NONE,
        ALL,
        /** Those that podman's archives have: of files, in seconds. They have no directories in which files were changed. */
        ARCHIVED;

        private boolean differ(Entry here, Entry there) {
            return switch (this) {
                case NONE -> false;
                case ALL -> here.modified != there.modified;
                case ARCHIVED -> here.modified / 1_000_000_000 != there.modified / 1_000_000_000 && !here.isDirectory();
            };
        }
    }

    /**
     * How another state differs.
     *
     * @param wrong differences that nothing explains
     * @param moved differences that came from processes which go on by themselves
     * @param directories that differ in nothing but their own time of modification, which no policy has to keep: where an entry came and went
     */
    record Differences(List<String> wrong, List<String> moved, List<String> directories) {
        static final Differences NONE = new Differences(List.of(), List.of(), List.of());
    }

    /** What the making of a sandbox's place, not its user, writes: each time anew. */
    private static final Set<String> FURNITURE =
            Set.of("", ".crab-init", "dev", "dev/ptmx", "run", "run/crab", "run/crab/exec.sock");

    boolean hasSurvivors() {
        return processes.size() > 1;
    }

    /**
     * Compares with a state that ought to be the same. Where processes live on, what they do by themselves differs: files (and directories
     * whose entries) they wrote after the moment that both stand for, and short-lived children.
     *
     * @param later the same sandbox as this one, a while later
     * @param boundary the moment that both stand for, in nanoseconds since 1970 UTC
     * @param back the other's sandbox
     * @param opened when the other one ran again, likewise
     * @param times which times of modification have to be the same, too
     */
    Differences differences(SandboxState later, long boundary, SandboxState back, long opened, Times times) {
        List<String> wrong = new ArrayList<>();
        List<String> moved = new ArrayList<>();
        List<String> directories = new ArrayList<>();
        Predicate<String> moving = hasSurvivors()
                ? path -> isNew(files.get(path), boundary)
                        || isNew(later.files.get(path), boundary)
                        || written(back.files.get(path), opened)
                : path -> false;
        TreeSet<String> paths = new TreeSet<>(files.keySet());
        paths.addAll(back.files.keySet());
        for (String path : paths) {
            String difference = difference(path, files.get(path), back.files.get(path), times);
            if (!difference.isEmpty()) {
                String parent = path.contains("/") ? path.substring(0, path.lastIndexOf('/')) : "";
                boolean moves = moving.test(path) || moving.test(parent);
                (moves ? moved : isDirectoryAsItWas(path, back) ? directories : wrong).add(difference);
            }
        }
        TreeSet<Integer> pids = new TreeSet<>(processes.keySet());
        pids.addAll(back.processes.keySet());
        for (int pid : pids) {
            Task here = processes.get(pid);
            Task there = back.processes.get(pid);
            if (here == null || there == null || !here.what.equals(there.what)) {
                boolean goesByItself = here == null
                        ? there != null && back.isBelowOneOf(this, there)
                        : !here.equals(later.processes.get(pid))
                                || (there == null
                                        && (isBelowABusyOne(here, later, back) || back.hasAnother(here, this)));
                (goesByItself ? moved : wrong)
                        .add("process " + pid + ": " + (here == null ? "none" : here.what) + " -> "
                                + (there == null ? "none" : there.what));
            }
        }
        return new Differences(wrong, moved, directories);
    }

    private boolean isDirectoryAsItWas(String path, SandboxState back) {
        Entry here = files.get(path);
        Entry there = back.files.get(path);
        return here != null && there != null && here.isDirectory() && here.what.equals(there.what);
    }

    /** Whether a process like that one is here that was not there before: its parent has begun the next one. */
    private boolean hasAnother(Task task, SandboxState before) {
        return task.parent != 1
                && processes.entrySet().stream()
                        .anyMatch(entry -> !before.processes.containsKey(entry.getKey())
                                && entry.getValue().what.equals(task.what));
    }

    /** Whether one of a process's ancestors here, other than pid 1, is there as well: somebody who lives on has brought it forth. */
    private boolean isBelowOneOf(SandboxState there, Task task) {
        return ancestors(task).stream().anyMatch(pid -> there.processes.containsKey(pid));
    }

    /** Whether an ancestor that lives on had other descendants a while later, or has others now: it brings forth and reaps by itself. */
    private boolean isBelowABusyOne(Task task, SandboxState later, SandboxState back) {
        return ancestors(task).stream()
                .filter(pid -> back.processes.containsKey(pid))
                .anyMatch(ancestor -> !descendants(ancestor).equals(later.descendants(ancestor))
                        || !descendants(ancestor).containsAll(back.descendants(ancestor)));
    }

    /** Pids from the parent upwards, without that of pid 1. */
    private List<Integer> ancestors(Task task) {
        List<Integer> ancestors = new ArrayList<>();
        int pid = task.parent;
        for (Task above = processes.get(pid);
                pid > 1 && above != null && !ancestors.contains(pid);
                above = processes.get(pid)) {
            ancestors.add(pid);
            pid = above.parent;
        }
        return ancestors;
    }

    private TreeSet<Integer> descendants(int ancestor) {
        TreeSet<Integer> descendants = new TreeSet<>();
        processes.forEach((pid, task) -> {
            if (ancestors(task).contains(ancestor)) {
                descendants.add(pid);
            }
        });
        return descendants;
    }

    private static boolean isNew(@Nullable Entry entry, long since) {
        return entry != null && (entry.modified >= since || entry.changed >= since);
    }

    /** A restore makes every inode anew, so only the time of modification tells. */
    private static boolean written(@Nullable Entry entry, long since) {
        return entry != null && entry.modified >= since;
    }

    private static Instant time(Entry entry) {
        return Instant.EPOCH.plusNanos(entry.modified);
    }

    private static String difference(String path, @Nullable Entry here, @Nullable Entry there, Times times) {
        if (here == null) {
            return there == null ? "" : path + ": is new: " + there.what;
        }
        if (there == null) {
            return path + ": is gone: " + here.what;
        }
        if (!here.what.equals(there.what)) {
            return path + ": " + here.what + " -> " + there.what;
        }
        return times.differ(here, there) && !FURNITURE.contains(path)
                ? path + ": modified " + time(here) + " -> " + time(there)
                : "";
    }
}
