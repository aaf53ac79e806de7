package dev.crab.samples.replay;

import dev.crab.runtime.os.Cgroup;
import dev.crab.runtime.os.Cgroups;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Control groups that podman makes below the one that has a container's name: the container's own, and that of podman's monitor. */
final class PodmanGroup {
    private static final String CONTAINER = "libpod-";
    private static final String MONITOR = "conmon";

    private PodmanGroup() {}

    /** The container's own; if there is none, the one above it, in which no process is. */
    static Cgroup of(String container) {
        Cgroups groups = Cgroups.detect();
        Cgroup above = groups.group(container);
        try (Stream<Path> below = Files.list(above.unified())) {
            return below.map(directory -> directory.getFileName().toString())
                    .filter(name -> name.startsWith(CONTAINER))
                    .findFirst()
                    .map(name -> groups.group(container + "/" + name))
                    .orElse(above);
        } catch (IOException e) {
            return above;
        }
    }

    /** Removes what podman leaves of them. */
    static void remove(String container) throws IOException {
        Cgroups groups = Cgroups.detect();
        for (String name : List.of(container + "/" + MONITOR, container)) {
            groups.group(name).remove();
        }
    }
}
