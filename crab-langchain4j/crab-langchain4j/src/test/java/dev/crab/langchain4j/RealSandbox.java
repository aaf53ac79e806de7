package dev.crab.langchain4j;

import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.snapshot.Snapshotters;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;

/** What tests against the real runtime have in common: a data directory of their own, the Debian image, and a service in the sandbox. */
final class RealSandbox {
    /** Counts in memory only, and tells the count. */
    private static final String COUNTER = """
            import socket
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", 7001))
            listener.listen(5)
            open("/srv/listens", "w").close()
            count = 0
            while True:
                peer, _ = listener.accept()
                count += 1
                peer.sendall(b"%d\\n" % count)
                peer.close()
            """;

    private RealSandbox() {}

    /** The Debian root that the project's set-up builds. */
    static SandboxSpec spec() {
        String configured = Optional.ofNullable(System.getProperty("crab.test.images"))
                .or(() -> Optional.ofNullable(System.getenv("CRAB_DATA")))
                .orElse("/var/lib/crab");
        return SandboxSpec.defaults().withImage(new SandboxImage.Directory(Path.of(configured, "images", "debian")));
    }

    static Path newData() {
        try {
            return Files.createTempDirectory("crab-langchain4j-test");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Removes a data directory whose sessions are closed. */
    static void remove(Path data) {
        Snapshotters.release(data);
        try (Stream<Path> files = Files.walk(data)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts the service. */
    static void startCounter(Sandbox sandbox) {
        sandbox.writeFile("/srv/counter.py", COUNTER.getBytes(StandardCharsets.UTF_8));
        run(
                sandbox,
                "setsid python3 /srv/counter.py >/dev/null 2>&1 </dev/null & "
                        + "for i in $(seq 200); do test -e /srv/listens && exit 0; sleep 0.05; done; exit 1");
    }

    /** Makes the service count one on; gives the new count. */
    static String count(Sandbox sandbox) {
        return run(sandbox, "read count < /dev/tcp/127.0.0.1/7001; echo $count");
    }

    static String run(Sandbox sandbox, String command) {
        var result = sandbox.exec(command);
        if (!result.isSuccess()) {
            throw new AssertionError(command + ": " + result.text());
        }
        return result.out().strip();
    }
}
