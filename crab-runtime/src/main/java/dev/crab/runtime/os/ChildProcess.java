package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.NativeLong;
import com.sun.jna.ptr.IntByReference;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * A child of this process that was started with chosen descriptors, which {@link ProcessBuilder} cannot do, or that became a child by
 * other means. Thread-safe.
 */
public final class ChildProcess {
    private static final int PRIO_PROCESS = 0;

    private static final short POLLIN = 1;

    private final int pid;
    private boolean reaped;
    private int status;

    private ChildProcess(int pid) {
        this.pid = pid;
    }

    /** A process that is a child of this one already. Whoever calls this is the only one to wait for it. */
    public static ChildProcess of(int pid) {
        if (pid <= 1) {
            // To kill and waitpid, 0 and below mean whole groups.
            throw new IllegalArgumentException("not a child's pid: " + pid);
        }
        return new ChildProcess(pid);
    }

    /**
     * Starts a program. It gets {@code /dev/null} as descriptors 0 to 2 and the given ones, and no other. It is in a session of its own, so
     * that what ends a whole process group, such as Ctrl-C at a terminal, ends this process first, which has a turn to finish with it.
     *
     * @param argv the program's path and its arguments
     * @param environment {@code NAME=value} each; its whole environment
     * @param descriptors number in the child (from 3, without gaps) to descriptor of this process, which stays open here. It must not
     *     itself be one of the numbers that the child gets
     */
    public static ChildProcess spawn(List<String> argv, List<String> environment, Map<Integer, NativeFd> descriptors)
            throws IOException {
        int end = 3 + descriptors.size();
        try (Memory actions = LibC.fileActions();
                Memory attributes = LibC.spawnAttributes()) {
            check(argv, LibC.C.posix_spawnattr_init(attributes));
            check(argv, LibC.C.posix_spawn_file_actions_init(actions));
            try {
                check(argv, LibC.C.posix_spawnattr_setflags(attributes, LibC.POSIX_SPAWN_SETSID));
                for (int fd = 0; fd <= 2; fd++) {
                    check(argv, LibC.C.posix_spawn_file_actions_addopen(actions, fd, "/dev/null", LibC.O_RDWR, 0));
                }
                for (Map.Entry<Integer, NativeFd> entry : descriptors.entrySet()) {
                    int target = entry.getKey();
                    int source = entry.getValue().number();
                    if (target < 3 || target >= end || source < end) {
                        throw new IllegalArgumentException("cannot map descriptor " + source + " to " + target);
                    }
                    check(argv, LibC.C.posix_spawn_file_actions_adddup2(actions, source, target));
                }
                check(argv, LibC.C.posix_spawn_file_actions_addclosefrom_np(actions, end));
                IntByReference pid = new IntByReference();
                check(
                        argv,
                        LibC.C.posix_spawn(
                                pid,
                                argv.get(0),
                                actions,
                                attributes,
                                argv.toArray(String[]::new),
                                environment.toArray(String[]::new)));
                return new ChildProcess(pid.getValue());
            } finally {
                LibC.C.posix_spawn_file_actions_destroy(actions);
                LibC.C.posix_spawnattr_destroy(attributes);
            }
        }
    }

    private static void check(List<String> argv, int errno) throws IOException {
        if (errno != 0) {
            throw IoErrors.asIoException(argv.get(0), errno);
        }
    }

    public int pid() {
        return pid;
    }

    /** Sends SIGKILL if it has not been waited for yet. */
    public synchronized void kill() {
        if (!reaped) {
            try {
                LibC.C.kill(pid, LibC.SIGKILL);
            } catch (LastErrorException e) {
                if (e.getErrorCode() != LibC.ESRCH) {
                    throw e;
                }
            }
        }
    }

    /** Whether it has not ended. */
    public boolean isAlive() {
        return tryReap().isEmpty();
    }

    /**
     * Lets it go before others, or after them.
     *
     * @param nice from -20 (first) to 19
     * @return whether the kernel allowed it
     */
    public boolean prioritise(int nice) {
        try {
            LibC.C.setpriority(PRIO_PROCESS, pid, nice);
            return true;
        } catch (LastErrorException e) {
            return false;
        }
    }

    /**
     * Waits for it to end and reaps it.
     *
     * @return the status as waitpid gives it, or empty if the time passed first; 0 if something else reaped it
     */
    public OptionalInt waitFor(Duration limit) {
        OptionalInt ended = tryReap();
        if (ended.isPresent()) {
            return ended;
        }
        int pidfd;
        try {
            pidfd = LibC.C
                    .syscall(new NativeLong(LibC.SYS_PIDFD_OPEN), new NativeLong(pid), new NativeLong(0))
                    .intValue();
        } catch (LastErrorException e) {
            return tryReap();
        }
        try (NativeFd fd = new NativeFd(pidfd);
                Memory poll = new Memory(8)) {
            long deadline = System.nanoTime() + limit.toNanos();
            while (true) {
                long left = deadline - System.nanoTime();
                poll.setInt(0, fd.number());
                poll.setShort(4, POLLIN);
                poll.setShort(6, (short) 0);
                try {
                    LibC.C.poll(poll, new NativeLong(1), (int) Math.max(0, Math.min(60_000, left / 1_000_000 + 1)));
                } catch (LastErrorException e) {
                    if (e.getErrorCode() != LibC.EINTR) {
                        throw e;
                    }
                }
                ended = tryReap();
                if (ended.isPresent() || left <= 0) {
                    return ended;
                }
            }
        }
    }

    private synchronized OptionalInt tryReap() {
        if (reaped) {
            return OptionalInt.of(status);
        }
        IntByReference out = new IntByReference();
        while (true) {
            try {
                if (LibC.C.waitpid(pid, out, LibC.WNOHANG) == 0) {
                    return OptionalInt.empty();
                }
                status = out.getValue();
                reaped = true;
                return OptionalInt.of(status);
            } catch (LastErrorException e) {
                if (e.getErrorCode() == LibC.ECHILD) {
                    reaped = true;
                    return OptionalInt.of(0);
                }
                if (e.getErrorCode() != LibC.EINTR) {
                    throw e;
                }
            }
        }
    }
}
