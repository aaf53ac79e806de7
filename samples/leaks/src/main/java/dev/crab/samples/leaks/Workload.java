package dev.crab.samples.leaks;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.Commit;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;

/** Turns of all kinds in a sandbox, those that fail among them. Not thread-safe. */
final class Workload {
    /** What a turn does. */
    enum Kind {
        /** Looks, and changes nothing. */
        READS,
        /** Writes, renames and deletes files. */
        FILES,
        /** Starts the counter, if it does not run. */
        STARTS,
        /** Makes the counter count. */
        COUNTS,
        /** Ends the counter, if it runs. */
        ENDS,
        /** Leaves a shared memory segment of System V, one in {@code /dev/shm} and a file that has no name any more to a process. */
        HOLDS,
        /** Runs a command, with a child, that takes longer than it may. */
        TIMES_OUT,
        /** Types into a terminal that stays open. */
        TERMINAL,
        /** Is given up. */
        ABANDONED,
        /** Cannot be captured at first: a process is traced. */
        UNCAPTURABLE,
        /** Finds the disk full at first. */
        DISK_FULL
    }

    /** Counts in memory only: a plus adds one, and whatever it gets it tells the count. */
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
                if peer.recv(1) == b"+":
                    count += 1
                peer.sendall(b"%d\\n" % count)
                peer.close()
            """;

    private static final String HOLDER = """
            import ctypes, os, time
            libc = ctypes.CDLL(None, use_errno=True)
            ident = libc.shmget(0, 8192, 0o1600)
            libc.shmat.restype = ctypes.c_void_p
            libc.shmat(ident, None, 0)
            shared = open("/dev/shm/held", "w"); shared.write("x" * 5000); shared.flush()
            gone = open("/srv/gone", "w+"); gone.write("nameless"); gone.flush(); os.unlink("/srv/gone")
            open("/srv/holds", "w").close()
            while True: time.sleep(1000)
            """;

    private static final String TRACED = """
            import ctypes, os, time
            if os.fork() == 0:
                ctypes.CDLL(None).ptrace(0, 0, 0, 0)
                while True: time.sleep(1000)
            open('/srv/traced', 'w').close()
            while True: time.sleep(1000)
            """;

    private static final String COUNT = "count";

    private final Path data;
    private final Random random;
    private final String filler = "filler-" + ProcessHandle.current().pid();

    Workload(Path data, long seed) {
        this.data = data;
        this.random = new Random(seed);
    }

    /** The next kind: each one comes, the failing ones more rarely. */
    Kind choose() {
        int dice = random.nextInt(100);
        int[] shares = {14, 20, 10, 20, 5, 6, 6, 5, 5, 5, 4};
        int kind = 0;
        while (dice >= shares[kind]) {
            dice -= shares[kind++];
        }
        return Kind.values()[kind];
    }

    /** Runs one turn of a session to its commit. */
    void run(SandboxSession session, Kind kind) {
        Turn turn = session.beginTurn();
        Sandbox sandbox = session.sandbox();
        switch (kind) {
            case READS -> run(sandbox, "ls -la /srv /root; cat /etc/hostname; date");
            case FILES -> files(session);
            case STARTS -> start(sandbox);
            case COUNTS -> count(sandbox);
            case ENDS -> end(sandbox);
            case HOLDS -> hold(sandbox);
            case TIMES_OUT -> timeOut(sandbox);
            case TERMINAL -> terminal(sandbox);
            case ABANDONED -> {
                run(sandbox, "echo given up >> /srv/given-up");
                turn.abandon();
                turn = session.beginTurn();
            }
            case UNCAPTURABLE -> uncapturable(session, turn);
            case DISK_FULL -> fullDisk(session, turn);
        }
        commit(session, turn);
    }

    /** A turn after which nothing runs in the sandbox. */
    void rest(SandboxSession session) {
        Turn turn = session.beginTurn();
        run(
                session.sandbox(),
                "kill -9 -1; for i in $(ipcs -m | awk '/^0x/{print $2}'); do ipcrm -m $i; done; "
                        + "while test $(ps -e | grep -c python3) != 0; do sleep 0.01; done; rm -f /dev/shm/*");
        session.sandbox().attributes().remove(COUNT);
        commit(session, turn);
    }

    private void files(SandboxSession session) {
        int size = 1 + random.nextInt(200);
        run(
                session.sandbox(),
                "mkdir -p /srv/tree/d" + random.nextInt(4) + "; head -c " + size + "k /dev/urandom > /srv/tree/f"
                        + random.nextInt(8) + "; rm -rf /srv/tree/d" + random.nextInt(4)
                        + "; mv -f /srv/tree/f1 /srv/tree/f2 2>/dev/null; ln -sf f2 /srv/tree/link; "
                        + "ln -f /srv/tree/f2 /srv/tree/hard 2>/dev/null; true");
    }

    private static void start(Sandbox sandbox) {
        if (sandbox.attributes().containsKey(COUNT)) {
            return;
        }
        sandbox.writeFile("/srv/counter.py", COUNTER);
        run(
                sandbox,
                "rm -f /srv/listens; setsid python3 /srv/counter.py >/dev/null 2>&1 </dev/null & "
                        + "for i in $(seq 400); do test -e /srv/listens && exit 0; sleep 0.02; done; exit 1");
        sandbox.attributes().put(COUNT, "0");
    }

    private static void count(Sandbox sandbox) {
        start(sandbox);
        sandbox.attributes().put(COUNT, ask(sandbox, "+"));
    }

    private static void end(Sandbox sandbox) {
        run(sandbox, "pkill -f '[c]ounter.py'; while pgrep -f '[c]ounter.py'; do sleep 0.01; done; true");
        sandbox.attributes().remove(COUNT);
    }

    private static void hold(Sandbox sandbox) {
        sandbox.writeFile("/srv/holder.py", HOLDER);
        run(sandbox, "pkill -f '[h]older.py'; for i in $(ipcs -m | awk '/^0x/{print $2}'); do ipcrm -m $i; done; true");
        run(
                sandbox,
                "rm -f /srv/holds; setsid python3 /srv/holder.py >/dev/null 2>&1 </dev/null & "
                        + "for i in $(seq 400); do test -e /srv/holds && exit 0; sleep 0.02; done; exit 1");
    }

    private static void timeOut(Sandbox sandbox) {
        ExecResult result = sandbox.exec(
                ExecRequest.of("/bin/bash", "-c", "sleep 100 & sleep 100").withTimeout(Duration.ofMillis(200)));
        if (!(result.end() instanceof ExecResult.End.TimedOut)) {
            throw new IllegalStateException("a command did not time out: " + result.text());
        }
    }

    private static void terminal(Sandbox sandbox) {
        try (Sandbox.PtyShell shell = sandbox.pty("work")) {
            shell.type("echo typed >> /srv/typed\n");
            shell.read(Duration.ofMillis(100), Duration.ofSeconds(5));
        }
    }

    private static void uncapturable(SandboxSession session, Turn turn) {
        Sandbox sandbox = session.sandbox();
        sandbox.writeFile("/srv/traced.py", TRACED);
        run(
                sandbox,
                "rm -f /srv/traced; setsid python3 /srv/traced.py >/dev/null 2>&1 </dev/null & "
                        + "for i in $(seq 400); do test -e /srv/traced && exit 0; sleep 0.02; done; exit 1");
        refused(ErrorCode.CAPTURE_FAILED, session, turn);
        run(sandbox, "pkill -f '[t]raced.py'; while pgrep -f '[t]raced.py'; do sleep 0.01; done; true");
    }

    private void fullDisk(SandboxSession session, Turn turn) {
        count(session.sandbox());
        Path file = data.resolve(filler);
        try {
            // Below what captures keep in reserve, and yet enough for the loop device: one that fails is another fault.
            long free = Files.getFileStore(data).getUsableSpace();
            Process fill = new ProcessBuilder(
                            "fallocate", "-l", Long.toString(Math.max(1, free - (24L << 20))), file.toString())
                    .inheritIO()
                    .start();
            if (fill.waitFor() != 0) {
                throw new IllegalStateException("the disk cannot be filled");
            }
            refused(ErrorCode.DISK_FULL, session, turn);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw CrabException.interrupted("filling the disk", e);
        } finally {
            file.toFile().delete();
        }
    }

    private static void refused(ErrorCode code, SandboxSession session, Turn turn) {
        try {
            commit(session, turn);
        } catch (CrabException e) {
            if (e.code() == code) {
                return;
            }
            throw e;
        }
        throw new IllegalStateException("a turn was committed that should have failed with " + code);
    }

    private static void commit(SandboxSession session, Turn turn) {
        ObjectNode position = JsonNodeFactory.instance.objectNode();
        String count = session.sandbox().attributes().get(COUNT);
        turn.commit(position.put("turn", turn.number()).put(COUNT, count == null ? "none" : count));
    }

    /** The count must be the one of the last commit: what is left over of a turn that was not committed would show here. */
    static void check(SandboxSession session) {
        Commit last = session.lastCommit();
        String expected = last == null ? "none" : last.position().path(COUNT).asText("none");
        String attribute = session.sandbox().attributes().getOrDefault(COUNT, "none");
        String found = attribute.equals("none") ? "none" : ask(session.sandbox(), "?");
        if (!expected.equals(found)) {
            throw new IllegalStateException(
                    "session " + session.id() + ": the count is " + found + ", and was " + expected + " at the commit");
        }
    }

    private static String ask(Sandbox sandbox, String what) {
        return run(sandbox, "exec 3<>/dev/tcp/127.0.0.1/7001; printf '" + what + "' >&3; read count <&3; echo $count");
    }

    private static String run(Sandbox sandbox, String command) {
        ExecResult result = sandbox.exec(command);
        if (!result.isSuccess()) {
            throw new IllegalStateException(command + ": " + result.text());
        }
        return new String(result.stdout(), StandardCharsets.UTF_8).strip();
    }
}
