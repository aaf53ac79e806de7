package dev.crab.runtime.engine;

import dev.crab.runtime.os.NativeFd;
import dev.crab.runtime.os.PeerProcess;
import dev.crab.runtime.os.PeerProcess.BoundFile;
import dev.crab.runtime.os.RootedPath;
import dev.crab.runtime.store.ProcessEntry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds, in processes that are held still, what CRIU (4.2) would leave out of a dump without a word. */
final class SilentLosses {
    private static final String INOTIFY = ":anon:inotify";
    private static final String FANOTIFY = ":anon:[fanotify]";
    private static final String NAMED_SOCKET = "unix /";

    private SilentLosses() {}

    /** Events that wait in the queue of a watcher of files: CRIU restores the watches, and the queue empty. In words. */
    static Optional<String> unreadEvents(ProcessTable table) throws IOException {
        Map<Integer, Integer> hostPids = table.hostPids();
        for (ProcessEntry entry : table.entries()) {
            for (String kind : entry.fdKinds()) {
                if (kind.endsWith(INOTIFY) || kind.endsWith(FANOTIFY)) {
                    int descriptor = Integer.parseInt(kind.substring(0, kind.indexOf(':')));
                    try (PeerProcess process = PeerProcess.open(host(hostPids, entry))) {
                        if (process.queued(descriptor) > 0) {
                            return Optional.of("process " + entry.pid() + " (" + entry.comm()
                                    + ") watches files and has not read all events, and CRIU would drop them");
                        }
                    }
                }
            }
        }
        return Optional.empty();
    }

    /**
     * A listening unix socket whose file was linked or renamed after it was bound: CRIU knows the name that it was bound to and no other,
     * so that after a restore nobody could connect to it. In words. What a process other than pid 1 listens on is looked at.
     */
    static Optional<String> renamedSocket(ProcessTable table) throws IOException {
        Map<Integer, Integer> hostPids = table.hostPids();
        for (ProcessEntry entry : table.entries()) {
            if (entry.pid() != 1 && entry.listening().stream().anyMatch(it -> it.startsWith(NAMED_SOCKET))) {
                int host = host(hostPids, entry);
                try (PeerProcess process = PeerProcess.open(host);
                        NativeFd root = RootedPath.openRoot(Path.of("/proc/" + host + "/root"))) {
                    for (String kind : entry.fdKinds()) {
                        if (kind.endsWith(":socket")) {
                            int descriptor = Integer.parseInt(kind.substring(0, kind.indexOf(':')));
                            PeerProcess.Listener listener =
                                    process.listener(descriptor).orElse(null);
                            String name = renamed(process, descriptor, listener, root);
                            if (name != null) {
                                return Optional.of("the socket that process " + entry.pid() + " (" + entry.comm()
                                        + ") has bound to " + name
                                        + " was linked or renamed since, and CRIU would restore it without that name");
                            }
                        }
                    }
                }
            }
        }
        return Optional.empty();
    }

    private static @Nullable String renamed(
            PeerProcess process, int descriptor, PeerProcess.@Nullable Listener listener, NativeFd root)
            throws IOException {
        if (listener == null
                || !listener.protocol().equals("unix")
                || !listener.address().startsWith("/")
                || !StandardCharsets.US_ASCII.newEncoder().canEncode(listener.address())) {
            return null;
        }
        BoundFile bound = process.boundFile(descriptor).orElse(null);
        if (bound == null) {
            return null;
        }
        boolean there;
        try (NativeFd named = RootedPath.openFollowing(root, listener.address())) {
            there = BoundFile.of(named).isSameAs(bound);
        } catch (IOException e) {
            there = false; // the name is gone, which CRIU restores as it is
        }
        return bound.links() == (there ? 1 : 0) ? null : listener.address();
    }

    private static int host(Map<Integer, Integer> hostPids, ProcessEntry entry) throws IOException {
        Integer pid = hostPids.get(entry.pid());
        if (pid == null) {
            throw new IOException("process " + entry.pid() + " has no pid outside");
        }
        return pid;
    }
}
