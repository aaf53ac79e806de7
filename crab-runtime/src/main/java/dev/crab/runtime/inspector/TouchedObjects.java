package dev.crab.runtime.inspector;

import dev.crab.runtime.libbpf.BpfMap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Where the programs note what one sandbox touches. It is made in the background, for that takes some ms of waiting. Thread-safe. */
final class TouchedObjects implements AutoCloseable {
    private final Programs programs;
    private final long cgroup;
    private final CompletableFuture<BpfMap> map;
    private boolean closed;

    /** @param cgroup the sandbox's, in the v2 hierarchy */
    TouchedObjects(Programs programs, Path cgroup) throws IOException {
        this.programs = programs;
        this.cgroup = (Long) Files.getAttribute(cgroup, "unix:ino");
        this.map = CompletableFuture.supplyAsync(() -> programs.newObjects(this.cgroup), TouchedObjects::run);
    }

    private static void run(Runnable task) {
        Thread thread = new Thread(task, "crab-inspector");
        thread.setDaemon(true);
        thread.start();
    }

    /** Number by which the kernel knows the cgroup. */
    long cgroup() {
        return cgroup;
    }

    /** The map, once it is there. Fails as its making has. */
    BpfMap map() {
        try {
            return map.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw e;
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            BpfMap made = map.exceptionally(failure -> null).join();
            if (made != null) {
                programs.forgetObjects(cgroup, made);
            }
        }
    }
}
