package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** System V IPC objects of another process's namespace: sysvipc(7), setns(2). */
public final class IpcNamespace {
    private static final List<String> KINDS = List.of("shm", "sem", "msg");

    private IpcNamespace() {}

    /**
     * What {@code /proc/sysvipc} says in the namespace of that process: one text with a line for each object, with its sizes, owners and
     * times of use.
     *
     * @param pid host pid
     */
    public static String objects(int pid) throws IOException {
        FutureTask<String> reading = new FutureTask<>(() -> read(pid));
        // Entering a namespace changes the calling thread for good, so it is done on one that ends right after.
        new Thread(reading, "crab-ipcns").start();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return reading.get();
                } catch (InterruptedException e) {
                    interrupted = true; // it ends within a millisecond
                } catch (ExecutionException e) {
                    throw e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static String read(int pid) throws IOException {
        try (NativeFd namespace =
                new NativeFd(LibC.C.open("/proc/" + pid + "/ns/ipc", LibC.O_RDONLY | LibC.O_CLOEXEC, 0))) {
            LibC.C.setns(namespace.number(), LibC.CLONE_NEWIPC);
        } catch (LastErrorException e) {
            throw Errno.of("ipc namespace of process " + pid, e);
        }
        StringBuilder objects = new StringBuilder();
        for (String kind : KINDS) {
            objects.append(Files.readString(Path.of("/proc/sysvipc", kind), StandardCharsets.US_ASCII));
        }
        return objects.toString();
    }
}
