package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Cgroup;
import dev.crab.runtime.os.Cgroups;
import dev.crab.runtime.os.Mounts;
import dev.crab.runtime.os.NetNamespace;
import dev.crab.runtime.os.Processes;
import dev.crab.runtime.snapshot.Volume;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A sandbox's overlay mount, cgroups and network namespace, and the start of runc in it. Thread-safe. */
final class RuncPlace implements SandboxFactory.Place {
    private static final long SERVES_WITHIN_NANOS = 10_000_000_000L;
    private static final int RUNC_SECONDS = 30;

    /** With less than this free where a sandbox's run-time files lie, it is for that that it does not start: 64 KiB. */
    private static final long ROOM = 64 << 10;

    /** Until the sandbox serves, so many tasks more may be in it: whoever builds it, and a sandbox may have been saved at its limit. */
    static final int BUILDERS = 32;

    private final String id;
    private final SandboxSpec spec;
    private final Volume volume;
    private final Path lower;
    private final RunFiles files;
    private final Cgroups cgroups;
    private final Cgroup cgroup;
    private int initPid;
    private boolean mounted;
    private boolean closed;

    RuncPlace(String id, SandboxSpec spec, Volume volume, Path lower, RunFiles files, Cgroups cgroups) {
        this.id = id;
        this.spec = spec;
        this.volume = volume;
        this.lower = lower;
        this.files = files;
        this.cgroups = cgroups;
        this.cgroup = cgroups.group(id);
    }

    @Override
    public synchronized Path mount() {
        try {
            if (!mounted) {
                Mounts.overlay(lower, volume.upper(), volume.work(), files.merged());
                mounted = true;
            }
            return files.merged();
        } catch (IOException e) {
            throw CrabException.io("the root of sandbox " + id + " could not be mounted", e);
        }
    }

    @Override
    public Path cgroup() {
        return cgroup.unified();
    }

    @Override
    public List<Path> allCgroups() {
        return cgroup.directories();
    }

    @Override
    public Path networkNamespace() {
        return files.networkNamespace();
    }

    @Override
    public SandboxFactory.RunningSandbox start() {
        mount();
        try {
            InitBinary.install(files.merged());
            Files.createDirectories(files.bundle());
            Files.write(
                    files.bundle().resolve("config.json"),
                    RuncConfig.of(id, spec, files.merged(), files.networkNamespace()));
            runRunc();
            int pid = Integer.parseInt(Files.readString(files.pidFile()).trim());
            // From here on the cgroup and pid 1 are all that is needed; what runc remembers would only take room.
            RunFiles.deleteTree(files.bundle());
            RunFiles.deleteTree(files.runcState());
            cgroup.add(pid);
            return running(pid, false);
        } catch (IOException e) {
            throw startFailed(CrabException.reason(e), e);
        }
    }

    private void runRunc() throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                "runc",
                "--root",
                files.runcState().toString(),
                "run",
                "--detach",
                "--bundle",
                files.bundle().toString(),
                "--pid-file",
                files.pidFile().toString(),
                id);
        // A file, not a pipe: pid 1 inherits it and keeps it until it has cut itself off.
        builder.redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(files.log().toFile())
                .redirectErrorStream(true);
        Process runc;
        try {
            runc = builder.start();
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.RUNC_MISSING,
                    "sandbox " + id + " cannot be started",
                    CrabException.reason(e),
                    "install runc (./crab setup does)",
                    e);
        }
        try {
            if (!runc.waitFor(RUNC_SECONDS, TimeUnit.SECONDS)) {
                runc.destroyForcibly();
                throw startFailed("runc did not end within " + RUNC_SECONDS + " s: " + log(), null);
            }
        } catch (InterruptedException e) {
            runc.destroyForcibly();
            throw CrabException.interrupted("starting sandbox " + id, e);
        }
        if (runc.exitValue() != 0) {
            throw startFailed("runc: " + log(), null);
        }
    }

    private String log() throws IOException {
        String log = Files.exists(files.log()) ? Files.readString(files.log()).trim() : "";
        return log.substring(Math.max(0, log.length() - 2000));
    }

    @Override
    public SandboxFactory.RunningSandbox adopt(int pid) {
        try {
            if (!cgroup.processes().contains(pid)) {
                throw CrabException.of(
                        ErrorCode.RESTORE_FAILED,
                        "sandbox " + id + " cannot be taken over",
                        "process " + pid + " is not in its cgroup",
                        "restore again; if it happens again, restore an earlier generation");
            }
            return running(pid, true);
        } catch (IOException e) {
            throw CrabException.io("taking over sandbox " + id, e);
        }
    }

    /** Waits until pid 1 answers, which proves that the right process serves the socket. */
    private SandboxFactory.RunningSandbox running(int pid, boolean restored) throws IOException {
        synchronized (this) {
            initPid = pid;
        }
        Processes.preferToSpare(pid);
        cgroups.limitProcesses(id, spec.pidLimit());
        InitClient client = new InitClient(id, pid, restored);
        boolean serves = false;
        try {
            long deadline = System.nanoTime() + SERVES_WITHIN_NANOS;
            while (!serves) {
                try {
                    client.ping(deadline);
                    serves = true;
                } catch (CrabException e) {
                    if (e.code() != ErrorCode.CONTROL_SOCKET_REFUSED || System.nanoTime() > deadline) {
                        throw startFailed(e.why() + ". " + log(), e);
                    }
                    LockSupport.parkNanos(300_000); // the socket is not there yet
                }
            }
        } finally {
            if (!serves) {
                client.close();
            }
        }
        SandboxProcesses processes =
                new SandboxProcesses(pid, cgroup.unified(), files.networkNamespace(), files.merged(), lower, volume);
        return new InitSandbox(id, processes, client, this::close);
    }

    private CrabException startFailed(String why, @org.jspecify.annotations.Nullable Throwable cause) {
        String what = "sandbox " + id + " could not be started";
        ErrorCode code = ErrorCode.SANDBOX_START_FAILED;
        String said = why;
        String cure = "see whether the image has what it needs, and run the doctor";
        if (isFull()) {
            // runc of Debian 12 does not say so: the reason is missing from its message.
            code = ErrorCode.DISK_FULL;
            said = "the file system of " + files.directory() + " is full: " + why;
            cure = "free space on it, then run again: what was committed is kept";
        }
        return cause == null
                ? CrabException.of(code, what, said, cure)
                : CrabException.of(code, what, said, cure, cause);
    }

    private boolean isFull() {
        try {
            Path where = Files.exists(files.runcState()) ? files.runcState() : files.directory();
            return Files.getFileStore(where).getUsableSpace() < ROOM;
        } catch (IOException e) {
            return false; // then that is not what can be told
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        dismantle(files, cgroup, id);
        if (initPid != 0) {
            Processes.reapKilled(initPid);
        }
        closed = true;
    }

    /** Takes away whatever there is of a place, in the order in which one thing holds the next. */
    static void dismantle(RunFiles files, Cgroup cgroup, String id) {
        try {
            cgroup.killAll();
            Mounts.unmount(files.merged());
            NetNamespace.delete(files.networkNamespace());
            cgroup.remove();
            files.delete();
        } catch (IOException e) {
            throw CrabException.io("the place of sandbox " + id + " could not be removed", e);
        }
    }
}
