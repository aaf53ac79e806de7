package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Errno;
import dev.crab.runtime.os.NativeFd;
import dev.crab.runtime.os.Processes;
import dev.crab.runtime.os.RootedPath;
import dev.crab.runtime.os.UnixStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens connections to one sandbox's pid 1. Thread-safe.
 *
 * <p>The socket lies in files that hostile programs write. So it is looked up beneath a descriptor of the sandbox's own root, no link is
 * followed, the connect goes to the inode that was found, and the listener must be the very pid 1 that this sandbox was started with.
 */
final class InitClient implements AutoCloseable {
    private final String id;
    private static final Logger LOG = LoggerFactory.getLogger(InitClient.class);
    private static final long ANEW_WITHIN_NANOS = 5_000_000_000L;

    private final int initPid;
    private final NativeFd root;
    private final RequestGate gate;
    private volatile Runnable beforeRequest = () -> {};
    private volatile boolean serving;

    /** @param serving whether it has served already, as it was restored */
    InitClient(String id, int initPid, boolean serving) {
        this.id = id;
        this.serving = serving;
        this.initPid = initPid;
        this.gate = new RequestGate(id);
        try {
            this.root = RootedPath.openRoot(Path.of("/proc/" + initPid + "/root"));
        } catch (IOException e) {
            throw lost(e);
        }
    }

    /** A connection for one request; waits while another thread holds the sandbox. */
    InitConnection connect() {
        boolean free = gate.enter();
        boolean connected = false;
        try {
            if (free) {
                beforeRequest.run();
            }
            InitConnection connection = open();
            connected = true;
            return connection;
        } finally {
            if (!connected) {
                gate.leave();
            }
        }
    }

    private InitConnection open() {
        if (!Processes.isAlive(initPid)) {
            throw lost(new IOException("process " + initPid + " is gone"));
        }
        try (NativeFd socket = socket()) {
            UnixStream stream = UnixStream.connect(socket);
            int peer = stream.peerPid();
            if (peer != initPid) {
                stream.close();
                throw refused("process " + peer + " listens there, not pid 1 (host pid " + initPid + ")", null);
            }
            return new InitConnection(id, stream, gate::leave);
        } catch (IOException e) {
            throw Processes.isAlive(initPid) ? refused(CrabException.reason(e), e) : lost(e);
        }
    }

    /** The socket; if a program of the sandbox has removed it, pid 1 is told to make it anew. */
    private NativeFd socket() throws IOException {
        long deadline = System.nanoTime() + ANEW_WITHIN_NANOS;
        boolean asked = false;
        while (true) {
            try {
                return RootedPath.open(root, Protocol.SOCKET);
            } catch (Errno e) {
                if (e.number() != Errno.ENOENT || !serving || System.nanoTime() > deadline) {
                    throw e;
                }
                if (!asked) {
                    LOG.warn("sandbox {} has removed {}; its pid 1 makes it anew", id, Protocol.SOCKET);
                    Processes.hangUp(initPid);
                    asked = true;
                }
                LockSupport.parkNanos(300_000);
            }
        }
    }

    /** Whether pid 1 answers; throws what a request would. */
    void ping(long deadline) throws IOException {
        try (InitConnection connection = connect()) {
            connection.send(Protocol.PING, new byte[0]);
            connection.expect(
                    Protocol.PONG, deadline, ErrorCode.SANDBOX_START_FAILED, "sandbox " + id + " is not ready");
            connection.awaitEnd();
        }
        serving = true;
    }

    /** See {@link SandboxFactory.RunningSandbox#beforeRequests}. */
    void beforeRequests(Runnable action) {
        beforeRequest = action;
    }

    /** See {@link SandboxFactory.RunningSandbox#hold}. */
    SandboxFactory.Hold hold() {
        return gate.hold();
    }

    /** See {@link SandboxFactory.RunningSandbox#mayExist}. */
    boolean mayExist(String path) {
        try {
            RootedPath.openFollowing(root, path).close();
            return true;
        } catch (Errno e) {
            return e.number() != Errno.ENOENT;
        } catch (IOException e) {
            return true;
        }
    }

    int initPid() {
        return initPid;
    }

    private CrabException refused(String why, @org.jspecify.annotations.Nullable Throwable cause) {
        String what = "the control socket of sandbox " + id + " cannot be used";
        String cure = "something in the sandbox replaced it: restore an earlier checkpoint";
        return cause == null
                ? CrabException.of(ErrorCode.CONTROL_SOCKET_REFUSED, what, why, cure)
                : CrabException.of(ErrorCode.CONTROL_SOCKET_REFUSED, what, why, cure, cause);
    }

    private CrabException lost(IOException cause) {
        return CrabException.of(
                ErrorCode.SANDBOX_LOST,
                "sandbox " + id + " does not answer",
                "its pid 1 (host pid " + initPid + ") is gone",
                "restore the last checkpoint",
                cause);
    }

    @Override
    public void close() {
        root.close();
    }
}
