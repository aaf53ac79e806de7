package dev.crab.runtime.os;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The host's cgroup hierarchies: v2 alone, or v2 beside v1 controllers ("hybrid"). Immutable.
 *
 * <p>Crab's groups are {@code crab/NAME} in each. On a hybrid host the limits are set where the controller is.
 */
public final class Cgroups {
    private static final String PARENT = "crab";

    /** Each sandbox adds mounts to the host's list, in which they would be looked for at each restore. */
    private static volatile @Nullable Cgroups detected;

    private final Path unified;
    private final List<Path> versionOne;
    private final Optional<Path> memoryOne;
    private final Optional<Path> pidsOne;

    private Cgroups(Path unified, List<Path> versionOne, Optional<Path> memoryOne, Optional<Path> pidsOne) {
        this.unified = unified;
        this.versionOne = List.copyOf(versionOne);
        this.memoryOne = memoryOne;
        this.pidsOne = pidsOne;
    }

    /** Finds what is mounted; fails with CGROUP_V2_MISSING if no v2 hierarchy is. Once found, the same for as long as this process lives. */
    public static Cgroups detect() {
        Cgroups known = detected;
        if (known == null) {
            known = find();
            detected = known;
        }
        return known;
    }

    private static Cgroups find() {
        try {
            List<Mounts.Mount> mounts = Mounts.list();
            Path unified = mounts.stream()
                    .filter(mount -> mount.type().equals("cgroup2"))
                    .map(Mounts.Mount::point)
                    .findFirst()
                    .orElseThrow(() -> CrabException.of(
                            ErrorCode.CGROUP_V2_MISSING,
                            "sandboxes cannot be made",
                            "no cgroup v2 hierarchy is mounted",
                            "mount -t cgroup2 none /sys/fs/cgroup/unified"));
            List<Path> versionOne = new ArrayList<>();
            for (Mounts.Mount mount : mounts) {
                if (mount.type().equals("cgroup")) {
                    versionOne.add(mount.point());
                }
            }
            return new Cgroups(unified, versionOne, controller(mounts, "memory"), controller(mounts, "pids"));
        } catch (IOException e) {
            throw CrabException.io("the cgroup hierarchies cannot be found", e);
        }
    }

    private static Optional<Path> controller(List<Mounts.Mount> mounts, String name) {
        return mounts.stream()
                .filter(mount -> mount.type().equals("cgroup")
                        && Arrays.asList(mount.options().split(",", -1)).contains(name))
                .map(Mounts.Mount::point)
                .findFirst();
    }

    /** Where the v2 hierarchy is mounted. */
    public Path unified() {
        return unified;
    }

    /** The group of that name, whether it exists or not. */
    public Cgroup group(String name) {
        List<Path> joined = new ArrayList<>();
        joined.add(unified.resolve(PARENT).resolve(name));
        memoryOne.ifPresent(mount -> joined.add(mount.resolve(PARENT).resolve(name)));
        pidsOne.ifPresent(mount -> joined.add(mount.resolve(PARENT).resolve(name)));
        List<Path> all = new ArrayList<>();
        all.add(joined.get(0));
        versionOne.forEach(mount -> all.add(mount.resolve(PARENT).resolve(name)));
        return new Cgroup(joined, all);
    }

    /** Path of a group as an OCI configuration wants it. */
    public static String ociPath(String name) {
        return "/" + PARENT + "/" + name;
    }

    /**
     * Makes the group with its limits.
     *
     * @param memory bytes for all its processes together, swap included where the kernel counts it
     * @param pids processes and threads at once
     */
    public Cgroup create(String name, long memory, int pids) throws IOException {
        Cgroup group = group(name);
        if (memoryOne.isEmpty() || pidsOne.isEmpty()) {
            Files.createDirectories(unified.resolve(PARENT));
            String wanted = (memoryOne.isEmpty() ? "+memory " : "") + (pidsOne.isEmpty() ? "+pids" : "");
            Files.writeString(unified.resolve("cgroup.subtree_control"), wanted);
            Files.writeString(unified.resolve(PARENT).resolve("cgroup.subtree_control"), wanted);
        }
        for (Path directory : group.directories()) {
            Files.createDirectories(directory);
        }
        limitMemory(name, memory);
        limitProcesses(name, pids);
        return group;
    }

    /** Sets how many tasks may be in a group of that name. It may have more already: then it gets no new ones. */
    public void limitProcesses(String name, int pids) throws IOException {
        Path group = pidsOne.orElse(unified).resolve(PARENT).resolve(name);
        Files.writeString(group.resolve("pids.max"), Integer.toString(pids));
    }

    private void limitMemory(String name, long memory) throws IOException {
        Path group = memoryOne.orElse(unified).resolve(PARENT).resolve(name);
        if (memoryOne.isPresent()) {
            Files.writeString(group.resolve("memory.limit_in_bytes"), Long.toString(memory));
            writeIfThere(group.resolve("memory.memsw.limit_in_bytes"), Long.toString(memory));
        } else {
            Files.writeString(group.resolve("memory.max"), Long.toString(memory));
            writeIfThere(group.resolve("memory.swap.max"), "0");
        }
    }

    private static void writeIfThere(Path file, String value) throws IOException {
        if (Files.exists(file)) {
            Files.writeString(file, value);
        }
    }
}
