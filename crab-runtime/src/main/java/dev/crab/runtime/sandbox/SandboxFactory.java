package dev.crab.runtime.sandbox;

import dev.crab.runtime.snapshot.Volume;
import java.nio.file.Path;

/**
 * Makes sandboxes. Thread-safe.
 *
 * <p>A sandbox comes to be in two steps: {@link #prepare} makes its place (cgroups with their limits, network namespace with loopback
 * up); then either {@link Place#start} runs a fresh pid 1 in it by the OCI runtime, or the engine has the overlay mounted, restores a
 * dump into it and hands the restored pid 1 to {@link Place#adopt}.
 */
public interface SandboxFactory {
    /** Resolves an image to the directory that holds its root file system; unpacks a tarball on first use. */
    Path resolve(SandboxImage image);

    /** Makes a sandbox's place over that volume. Fails with NAME_TAKEN if a place of that name exists. */
    Place prepare(String id, SandboxSpec spec, Volume volume);

    /** Removes what a dead owner left of the sandbox of that name: processes, mounts, cgroups, namespaces. Idempotent. */
    void sweep(String id);

    /** A sandbox's place: everything around its processes. */
    interface Place extends AutoCloseable {
        /**
         * Mounts the overlay; from here on the volume is in use. {@link #start} does it if nobody has. Idempotent.
         *
         * @return host path of the mount: the sandbox's root
         */
        Path mount();

        /** Directory in the cgroup v2 hierarchy. */
        Path cgroup();

        /** All cgroup directories (v2 and, on hybrid hosts, v1) that a process must join to be in the sandbox. */
        java.util.List<Path> allCgroups();

        /** File that names the network namespace. */
        Path networkNamespace();

        /** Starts pid 1 by the OCI runtime and waits until it serves. */
        RunningSandbox start();

        /** Takes over a tree that was restored into this place. */
        RunningSandbox adopt(int initPid);

        /** Kills whatever runs in the place and removes it; the volume stays. Idempotent. */
        @Override
        void close();
    }

    /** A sandbox held still by {@link RunningSandbox#hold}; closed by the thread that got it. */
    interface Hold extends AutoCloseable {
        /** Lets waiting requests begin. Idempotent. */
        @Override
        void close();
    }

    /** A sandbox with the host's view of it. Closing kills its processes and removes its place; the volume stays. */
    interface RunningSandbox extends Sandbox, AutoCloseable {
        SandboxProcesses processes();

        /**
         * Holds the sandbox for this thread: until closed, requests of other threads wait, and none runs, so that a capture finds pid 1
         * without a connection. This thread's own requests go through. May be nested.
         *
         * @throws dev.crab.runtime.error.CrabException CAPTURE_FAILED if a command that runs does not end within a second
         */
        Hold hold();

        /**
         * Makes sure that pid 1 can be reached: what cannot be reached must not be committed, for nobody could use it when it is back.
         * Its socket is made anew where a program of the sandbox has removed it.
         *
         * @throws dev.crab.runtime.error.CrabException SANDBOX_LOST, CONTROL_SOCKET_REFUSED
         */
        void ensureReachable();

        /**
         * Gives it another host name, which its running processes see too.
         *
         * @param name 1 to 63 characters of {@code [a-z0-9-]}
         * @throws dev.crab.runtime.error.CrabException IO_FAILED
         */
        void setHostName(String name);

        /** Whether something lies at that path, links followed; also true if that cannot be told. Looked up from outside, without a request. */
        boolean mayExist(String path);

        /**
         * From now on the action runs before each request, in its thread, but for those of who holds the sandbox. What it throws comes out
         * of the request, which then is not made.
         */
        void beforeRequests(Runnable action);

        @Override
        void close();
    }
}
