package dev.crab.runtime.criu;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.os.ChildProcess;
import dev.crab.runtime.os.NativeFd;
import dev.crab.runtime.os.NetNamespace;
import dev.crab.runtime.os.Processes;
import dev.crab.runtime.os.SeqPacketSocket;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One CRIU process ({@code criu swrk}) that waits for one request. Not thread-safe, except for {@link #close}.
 *
 * <p>It is started in a network namespace: that of the tree to dump, or of the place to restore into. CRIU then sees no other network
 * namespace than its own and leaves it out of the images.
 */
public final class CriuSession implements AutoCloseable {
    /** Longest time without any message from CRIU: 2 minutes; dumping a gigabyte of memory takes seconds. */
    static final Duration PATIENCE = Duration.ofMinutes(2);

    private static final Duration END = Duration.ofSeconds(5);

    /** The largest deleted file that goes into a dump: 512 MiB. A sandbox stands still while it is copied. */
    private static final int GHOST_LIMIT = 512 << 20;

    private static final int FREEZE_SECONDS = 3;

    /** A sandbox stands still for as long as a dump lasts: it goes before what runs. Not so a restore, whose processes would inherit it. */
    private static final int DUMP_PRIORITY = -15;

    /** The name that a CRIU with setup's change to its locks gives itself: criu-patches/posix-locks-after-mappings.patch. */
    private static final String LOCKS_AFTER_MAPPINGS = "posix-locks-after-mappings";

    private static final Logger LOG = LoggerFactory.getLogger(CriuSession.class);

    private final ChildProcess process;
    private final CriuConnection connection;

    private CriuSession(ChildProcess process, CriuConnection connection) {
        this.process = process;
        this.connection = connection;
    }

    /** Starts a process in a network namespace. */
    static CriuSession start(Path binary, Path networkNamespace) throws IOException {
        return start(
                (argv, environment, descriptors) ->
                        NetNamespace.spawn(networkNamespace, argv, environment, descriptors),
                binary);
    }

    /** Starts a process in this one's network namespace. */
    static CriuSession start(Path binary) throws IOException {
        return start(ChildProcess::spawn, binary);
    }

    /** Starts a program. */
    @FunctionalInterface
    private interface Spawning {
        ChildProcess spawn(List<String> argv, List<String> environment, Map<Integer, NativeFd> descriptors)
                throws IOException;
    }

    private static CriuSession start(Spawning spawning, Path binary) throws IOException {
        SeqPacketSocket.Pair pair = SeqPacketSocket.pair();
        try (NativeFd ours = pair.ours();
                NativeFd theirs = pair.theirs()) {
            ChildProcess child = spawning.spawn(
                    List.of(binary.toString(), "swrk", "3"),
                    List.of("PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"),
                    Map.of(3, theirs));
            try {
                return new CriuSession(child, new CriuConnection(ours));
            } catch (IOException | RuntimeException e) {
                child.kill();
                child.waitFor(END);
                throw e;
            }
        }
    }

    /** Host pid of the CRIU process. */
    public int pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /**
     * Dumps a tree; it runs on afterwards.
     *
     * @return nanoseconds that the tree was held still by CRIU's own account
     * @throws CriuFailure if CRIU fails; what {@code notify} throws comes out as it is, after CRIU has let the tree go
     */
    public long dump(DumpRequest request, CriuNotify notify, boolean verbose) throws CriuFailure {
        Rpc.Options options = common(request.images(), verbose)
                .setPid(request.pid())
                .setLeaveRunning(true)
                .setLinkRemap(true)
                .setGhostLimit(GHOST_LIMIT)
                .setForceIrmap(true)
                .addAllIrmapScanPaths(request.watchPaths())
                .setFreezeCgroup(request.freezeCgroup().toString())
                .setTimeout(FREEZE_SECONDS)
                .build();
        if (!process.prioritise(DUMP_PRIORITY)) {
            LOG.debug("CRIU dumps at the priority of everybody");
        }
        call(Rpc.RequestType.DUMP, options, request.images(), notify);
        return frozenNanos(request.images());
    }

    /** Puts the process into cgroups, so that what it restores is born there. */
    public void join(List<Path> cgroups) throws CriuFailure {
        for (Path cgroup : cgroups) {
            try {
                Files.writeString(cgroup.resolve("cgroup.procs"), Integer.toString(pid()), StandardOpenOption.WRITE);
            } catch (IOException e) {
                throw new CriuFailure(CriuFailure.Kind.NOT_BEGUN, "CRIU cannot join " + cgroup + ": " + e, e);
            }
        }
    }

    /**
     * Restores a tree. Its root becomes a child of this process, which has to reap it, in every case in which {@code notify} has been
     * told of it.
     *
     * @return host pid of the tree's root
     * @throws CriuFailure if CRIU fails; what {@code notify} throws comes out as it is, after CRIU has killed what it had restored. At
     *     {@link CriuPhase#PRE_RESUME} CRIU itself no longer turns back: there the tree's root is killed instead, before it runs, and
     *     with it everything in its pid namespace
     */
    public int restore(RestoreRequest request, CriuNotify notify, boolean verbose) throws CriuFailure {
        Rpc.Options.Builder options = common(request.images(), verbose).setRstSibling(true);
        if (request.root() != null) {
            options.setRoot(request.root().toString());
        }
        // CRIU tells the root's pid at some phases only, from the first at which there is one.
        int[] root = new int[1];
        Rpc.Response response = call(Rpc.RequestType.RESTORE, options.build(), request.images(), (phase, pid) -> {
            root[0] = pid > 0 ? pid : root[0];
            try {
                notify.reached(phase, root[0]);
            } catch (RuntimeException e) {
                if (phase == CriuPhase.PRE_RESUME && root[0] > 1) {
                    Processes.kill(root[0]);
                }
                throw e;
            }
        });
        if (!response.hasRestore()) {
            throw new CriuFailure(CriuFailure.Kind.BROKEN_OFF, "CRIU did not say what it restored");
        }
        return response.getRestore().getPid();
    }

    CriuFeatures version() throws CriuFailure {
        connection.send(
                Rpc.Request.newBuilder().setType(Rpc.RequestType.VERSION).build());
        Rpc.Response response = receive(CriuFailure.Kind.NOT_BEGUN, "version", null);
        if (!response.hasVersion()) {
            throw new CriuFailure(CriuFailure.Kind.NOT_BEGUN, "CRIU did not answer with its version");
        }
        Rpc.Version version = response.getVersion();
        return new CriuFeatures(
                version.getMajor(),
                version.getMinor(),
                version.getSublevel(),
                version.getName().equals(LOCKS_AFTER_MAPPINGS));
    }

    private static Rpc.Options.Builder common(Path images, boolean verbose) {
        return Rpc.Options.newBuilder()
                .setImagesDirFd(-1)
                .setImagesDir(images.toString())
                .setLogFile(CriuLog.NAME)
                .setLogLevel(verbose ? 4 : 1)
                .setNotifyScripts(true)
                .setManageCgroupsMode(Rpc.CgroupMode.IGNORE)
                .setNetworkLock(Rpc.NetworkLock.SKIP)
                .setFileLocks(true)
                .setTcpEstablished(true)
                .setExtUnixSk(true)
                .setEvasiveDevices(true)
                .setOrphanPtsMaster(true);
    }

    private Rpc.Response call(Rpc.RequestType type, Rpc.Options options, Path log, CriuNotify notify)
            throws CriuFailure {
        String what = type.name().toLowerCase(Locale.ROOT);
        connection.send(Rpc.Request.newBuilder().setType(type).setOpts(options).build());
        CriuFailure.Kind ifItEnds = CriuFailure.Kind.NOT_BEGUN;
        RuntimeException refused = null;
        while (true) {
            Rpc.Response response;
            try {
                response = receive(ifItEnds, what, log);
            } catch (CriuFailure e) {
                if (refused != null) {
                    e.addSuppressed(refused);
                }
                throw e;
            }
            if (response.getType() == Rpc.RequestType.NOTIFY) {
                ifItEnds = CriuFailure.Kind.BROKEN_OFF;
                if (refused == null) {
                    refused = notify(response.getNotify(), notify);
                }
                connection.send(Rpc.Request.newBuilder()
                        .setType(Rpc.RequestType.NOTIFY)
                        .setNotifySuccess(refused == null)
                        .build());
            } else if (refused != null) {
                throw refused;
            } else if (response.getType() == type && response.getSuccess()) {
                return response;
            } else {
                throw new CriuFailure(
                        CriuFailure.Kind.REFUSED,
                        "CRIU " + what + " failed (" + said(response) + "):\n" + CriuLog.errors(log));
            }
        }
    }

    private static String said(Rpc.Response response) {
        String message = CriuLog.message(response.getCrErrmsg());
        return message.isEmpty() ? "error " + response.getCrErrno() : message;
    }

    private static @Nullable RuntimeException notify(Rpc.Notification notification, CriuNotify notify) {
        try {
            Optional<CriuPhase> phase = CriuPhase.of(notification.getScript());
            phase.ifPresent(reached -> notify.reached(reached, notification.getPid()));
            return null;
        } catch (RuntimeException e) {
            return e;
        }
    }

    private Rpc.Response receive(CriuFailure.Kind ifItEnds, String what, @Nullable Path log) throws CriuFailure {
        String evidence;
        try {
            Rpc.Response response = connection.receive(PATIENCE);
            if (response != null) {
                return response;
            }
            evidence = "said nothing for " + PATIENCE.toSeconds() + " s and was killed";
        } catch (IOException e) {
            evidence = "ended without an answer (" + CrabException.reason(e) + ")";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            evidence = "was killed because the waiting thread was interrupted";
        }
        close();
        throw new CriuFailure(
                ifItEnds, "CRIU " + what + " " + evidence + (log == null ? "" : ":\n" + CriuLog.errors(log)));
    }

    /** stats-dump: two magic numbers of 4 bytes, the length of the entry in 4 bytes, the entry. */
    private static long frozenNanos(Path images) throws CriuFailure {
        try (InputStream in = Files.newInputStream(images.resolve("stats-dump"))) {
            ByteBuffer image = ByteBuffer.wrap(in.readNBytes(1 << 16)).order(ByteOrder.LITTLE_ENDIAN);
            int length = image.getInt(8);
            Rpc.DumpStatistics dump =
                    Rpc.Statistics.parseFrom(image.slice(12, length)).getDump();
            return 1000L
                    * (Integer.toUnsignedLong(dump.getFreezingTime()) + Integer.toUnsignedLong(dump.getFrozenTime()));
        } catch (IOException | IndexOutOfBoundsException e) {
            throw new CriuFailure(CriuFailure.Kind.REFUSED, "CRIU's statistics of the dump cannot be read: " + e, e);
        }
    }

    /** Ends the process, idle or not. Idempotent. */
    @Override
    public void close() {
        connection.close();
        // Idle, it ends when the connection does. In the middle of something it must not go on behind the caller's
        // back.
        if (process.waitFor(Duration.ofMillis(200)).isEmpty()) {
            process.kill();
            process.waitFor(END);
        }
    }
}
