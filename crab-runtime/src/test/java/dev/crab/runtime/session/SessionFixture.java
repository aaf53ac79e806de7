package dev.crab.runtime.session;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.snapshot.BtrfsSnapshotter;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.runtime.store.CheckpointStore;
import dev.crab.runtime.store.FileObjectStore;
import dev.crab.runtime.store.Names;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A data directory of its own with real sandboxes in it, and what tests do in them: a service whose state is only in memory, a file, and
 * the working directory of a shell. Closing it leaves nothing behind.
 */
final class SessionFixture implements AutoCloseable {
    /** Counts in memory only: a plus adds one, and whatever it gets it tells the count. */
    private static final String COUNTER = """
            import socket
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", 7001))
            listener.listen(5)
            count = 0
            while True:
                peer, _ = listener.accept()
                if peer.recv(1) == b"+":
                    count += 1
                peer.sendall(b"%d" % count)
                peer.close()
            """;

    private static final String ASK = """
            import socket, sys, time
            for attempt in range(200):
                try:
                    peer = socket.create_connection(("127.0.0.1", 7001))
                    peer.sendall(sys.argv[1].encode())
                    print(peer.recv(9).decode())
                    sys.exit(0)
                except ConnectionRefusedError:
                    time.sleep(0.05)
            sys.exit(1)
            """;

    private final Path data;
    private final CrabRuntime runtime;

    SessionFixture() {
        this(temporary(), 100);
    }

    SessionFixture(Path data, int keepGenerations) {
        this(data, keepGenerations, UncapturedPolicy.FAIL);
    }

    SessionFixture(Path data, int keepGenerations, UncapturedPolicy policy) {
        this.data = data;
        this.runtime = CrabRuntime.builder()
                .dataDirectory(data)
                .keepGenerations(keepGenerations)
                .onUncaptured(policy)
                .build();
    }

    static Path temporary() {
        try {
            return Files.createTempDirectory("crab-session-test");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Path data() {
        return data;
    }

    CrabRuntime runtime() {
        return runtime;
    }

    /** The Debian root that the project's set-up builds. */
    static SandboxSpec spec() {
        String configured = Optional.ofNullable(System.getProperty("crab.data"))
                .or(() -> Optional.ofNullable(System.getenv("CRAB_DATA")))
                .orElse("/var/lib/crab");
        return SandboxSpec.defaults().withImage(new SandboxImage.Directory(Path.of(configured, "images", "debian")));
    }

    SandboxSession open(String id) {
        return open(id, spec());
    }

    SandboxSession open(String id, SandboxSpec spec) {
        return runtime.open(id, spec);
    }

    static ObjectNode position(long n) {
        return JsonNodeFactory.instance.objectNode().put("message", n);
    }

    static String run(Sandbox sandbox, String command) {
        ExecResult result = sandbox.exec(command);
        if (!result.isSuccess()) {
            throw new AssertionError(command + ": " + result.text());
        }
        return result.out().strip();
    }

    /** Starts the service; gives its pid inside the sandbox. */
    static String startCounter(Sandbox sandbox) {
        sandbox.writeFile("/srv/counter.py", COUNTER.getBytes(StandardCharsets.UTF_8));
        sandbox.writeFile("/srv/ask.py", ASK.getBytes(StandardCharsets.UTF_8));
        String pid = run(sandbox, "setsid python3 /srv/counter.py >/dev/null 2>&1 </dev/null & echo $!");
        // Its first answer is 1: it listens before the turn ends.
        if (ask(sandbox) != 1) {
            throw new AssertionError("the counter does not begin at 1");
        }
        return pid;
    }

    /** Counts one on; gives the new count. */
    static int ask(Sandbox sandbox) {
        return Integer.parseInt(run(sandbox, "python3 /srv/ask.py +"));
    }

    /** The count as it is. */
    static int peek(Sandbox sandbox) {
        return Integer.parseInt(run(sandbox, "python3 /srv/ask.py '?'"));
    }

    /** Everything in the store that bears the session's name: manifests, objects and snapshots. */
    List<String> stored(String session) {
        List<String> names = new ArrayList<>(new FileObjectStore(runtime.data()).list(Names.prefix(session)));
        CheckpointStore.manifests(runtime.data(), session)
                .generations()
                .forEach(generation -> names.add(generation + ".json"));
        try (Snapshotter snapshots = BtrfsSnapshotter.open(data)) {
            snapshots.snapshots().stream()
                    .filter(id -> id.startsWith(Names.prefix(session)))
                    .forEach(id -> names.add("snapshot " + id));
        }
        names.sort(null);
        return names;
    }

    @Override
    public void close() {
        runtime.close();
        Snapshotters.release(data);
        try (Stream<Path> files = Files.walk(data)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
