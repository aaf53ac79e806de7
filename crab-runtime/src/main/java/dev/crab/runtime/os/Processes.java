package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.ptr.IntByReference;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** Signals and ends of processes, by host pid. Thread-safe. */
public final class Processes {
    private Processes() {}

    /** Whether the process exists and is more than a zombie. */
    public static boolean isAlive(int pid) {
        return ProcFs.find(pid).map(p -> p.state() != 'Z' && p.state() != 'X').orElse(false);
    }

    /** Sends SIGKILL; a process that is gone already is success. */
    public static void kill(int pid) {
        signal(pid, LibC.SIGKILL);
    }

    /** Sends SIGHUP; a process that is gone already is success. */
    public static void hangUp(int pid) {
        signal(pid, LibC.SIGHUP);
    }

    private static void signal(int pid, int number) {
        try {
            LibC.C.kill(pid, number);
        } catch (LastErrorException e) {
            if (e.getErrorCode() != LibC.ESRCH) {
                throw e;
            }
        }
    }

    /** Takes away the zombie if the process is this process's child and has ended; does not wait. */
    public static void reap(int pid) {
        try {
            LibC.C.waitpid(pid, new IntByReference(), LibC.WNOHANG);
        } catch (LastErrorException e) {
            // ECHILD: someone else's child, whose zombie is theirs to take away. EINTR cannot be with WNOHANG.
        }
    }

    /**
     * As {@link #reap}, but waits for the end of a process that has been killed: it is in no cgroup's list any more long before it is
     * a zombie, and one that nobody waits for stays until this process ends. Gives up after ten seconds.
     */
    public static void reapKilled(int pid) {
        long deadline = System.nanoTime() + 10_000_000_000L;
        try {
            while (LibC.C.waitpid(pid, new IntByReference(), LibC.WNOHANG) == 0 && System.nanoTime() < deadline) {
                LockSupport.parkNanos(200_000);
            }
        } catch (LastErrorException e) {
            // As above.
        }
    }

    /**
     * Makes the kernel choose the process last, but not never, when memory runs out. Best effort: it takes CAP_SYS_RESOURCE, and without
     * it the largest process is still the likeliest to go.
     */
    public static void preferToSpare(int pid) {
        try {
            Files.writeString(Path.of("/proc/" + pid + "/oom_score_adj"), "-999");
        } catch (IOException e) {
            // not permitted here
        }
    }

    /** Whether this process runs as root. */
    public static boolean isRoot() {
        return LibC.C.geteuid() == 0;
    }
}
