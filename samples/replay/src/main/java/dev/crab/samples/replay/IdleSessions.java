package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** What sessions take that have committed and wait, in this JVM and in the processes that it keeps for them. */
final class IdleSessions {
    private static final String SERVICE = """
            mkfifo /tmp/wait
            bash -c 'read line <> /tmp/wait' > /dev/null 2>&1 &
            python3 -m http.server --bind 127.0.0.1 --directory /srv 8000 > /dev/null 2>&1 &
            until python3 -c 'import urllib.request as r; r.urlopen("http://127.0.0.1:8000/")' 2> /dev/null; do sleep 0.05; done""";

    /** What this JVM has: bytes of heap that are in use, descriptors, threads, bytes of memory that its children have for themselves. */
    private record Use(long heap, long descriptors, long threads, long beside) {
        static Use now() throws IOException, InterruptedException {
            for (int i = 0; i < 4; i++) {
                System.gc();
                Thread.sleep(100);
            }
            Runtime jvm = Runtime.getRuntime();
            long beside = 0;
            for (ProcessHandle child : ProcessHandle.current().children().toList()) {
                beside += privateBytes(child.pid());
            }
            try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
                return new Use(
                        jvm.totalMemory() - jvm.freeMemory(),
                        open.count(),
                        Thread.getAllStackTraces().size(),
                        beside);
            }
        }

        /** 0 for one that has ended, and for pid 1 of a sandbox, which is the sandbox's own. */
        private static long privateBytes(long pid) {
            try {
                if (!Files.readString(Path.of("/proc/" + pid + "/comm")).startsWith("criu")) {
                    return 0;
                }
                return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
                        .filter(line -> line.startsWith("RssAnon:"))
                        .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                        .sum();
            } catch (IOException e) {
                return 0;
            }
        }
    }

    private IdleSessions() {}

    /** What each session takes, as what so many take together less what the first one does. */
    static ObjectNode measure(Path image, int count) throws IOException, InterruptedException {
        List<SandboxSession> sessions = new ArrayList<>();
        String prefix = "idle-" + Long.toString(ProcessHandle.current().pid(), 36) + "-";
        try (CrabRuntime runtime = CrabRuntime.builder().build()) {
            try {
                sessions.add(open(runtime, image, prefix + 0));
                Use first = Use.now();
                for (int i = 1; i <= count; i++) {
                    sessions.add(open(runtime, image, prefix + i));
                }
                Use all = Use.now();
                return Json.object()
                        .put("sessions", count)
                        .put("heapBytes", (double) (all.heap() - first.heap()) / count)
                        .put("descriptors", (double) (all.descriptors() - first.descriptors()) / count)
                        .put("threads", (double) (all.threads() - first.threads()) / count)
                        .put("besideBytes", (double) (all.beside() - first.beside()) / count);
            } finally {
                for (SandboxSession session : sessions) {
                    session.close();
                    runtime.delete(session.id());
                }
            }
        }
    }

    private static SandboxSession open(CrabRuntime runtime, Path image, String name) {
        SandboxSession session =
                runtime.open(name, SandboxSpec.defaults().withImage(new SandboxImage.Directory(image)));
        Turn turn = session.beginTurn();
        ExecResult result = session.sandbox().exec(SERVICE);
        if (!result.isSuccess()) {
            throw new IllegalStateException("no service in " + name + ": " + result.text());
        }
        turn.commit(JsonNodeFactory.instance.objectNode());
        return session;
    }
}
