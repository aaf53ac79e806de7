package dev.crab.runtime.criu;

import java.nio.file.Path;
import java.util.List;

/**
 * A tree to dump. It runs on afterwards.
 *
 * @param pid host pid of its root
 * @param images existing empty directory for the images and the log
 * @param freezeCgroup cgroup v2 directory that holds exactly the tree; CRIU freezes it and leaves it as it was
 * @param watchPaths where, inside the sandbox, files may lie that an inotify watch is on
 */
public record DumpRequest(int pid, Path images, Path freezeCgroup, List<String> watchPaths) {
    public DumpRequest {
        watchPaths = List.copyOf(watchPaths);
    }
}
