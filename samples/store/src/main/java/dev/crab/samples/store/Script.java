package dev.crab.samples.store;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.session.Commit;
import dev.crab.runtime.session.SandboxSession;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The turns of a session, of every kind, and the state after each of them. A service keeps a count and some pages in memory only; files,
 * shell, attributes and position all tell the turn, each in its own place, so that a mix of two turns cannot look like one.
 */
final class Script {
    /** Turns in all. */
    static final int TURNS = 8;

    /** After this turn the session is closed and opened again: a restore with processes. */
    static final int REOPENED_AFTER = 4;

    private static final String SHELL = "work";

    private static final String SERVICE = """
            import os, socket
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", 7001))
            listener.listen(5)
            count, ballast = 0, b""
            while True:
                peer, _ = listener.accept()
                wish = peer.recv(1)
                if wish in b"+g":
                    count += 1
                if wish == b"g":
                    ballast = os.urandom(1 << 20)
                peer.sendall(b"%d %d" % (count, len(ballast)))
                peer.close()
            """;

    private static final String ASK = """
            import socket, sys, time
            for attempt in range(400):
                try:
                    peer = socket.create_connection(("127.0.0.1", 7001))
                    break
                except ConnectionRefusedError:
                    time.sleep(0.02)
            peer.sendall(sys.argv[1].encode())
            print(peer.recv(30).decode())
            """;

    private static final String LOOK = """
            ls /srv | tr '\\n' ' '; echo
            cat /srv/note /srv/renamed 2>/dev/null; echo
            if pgrep -x python3; then python3 /srv/ask.py '?'; else echo none; echo none; fi
            """;

    private Script() {}

    /** Where a layer above would stand after that turn. */
    static ObjectNode position(long turn) {
        return JsonNodeFactory.instance.objectNode().put("message", turn);
    }

    /** What the turn does; it is not committed by this. */
    static void play(Sandbox sandbox, long turn) {
        sandbox.attributes().put("turn", Long.toString(turn));
        switch ((int) turn) {
            case 1 -> {
                sandbox.writeFile("/srv/service.py", SERVICE);
                sandbox.writeFile("/srv/ask.py", ASK);
                sandbox.writeFile("/srv/note", "1");
            }
            case 2 -> {
                String pid = run(sandbox, "setsid python3 /srv/service.py >/dev/null 2>&1 </dev/null & echo $!");
                ask(sandbox, "+");
                sandbox.attributes().put("pid", pid);
            }
            case 3 -> sandbox.shell(SHELL).run("cd /tmp && export SEEN=3");
            case 5 -> sandbox.writeFile("/srv/note", "5");
            case 6 -> {
                ask(sandbox, "g");
                sandbox.writeFile("/srv/note", "6");
            }
            case 7 -> run(sandbox, "mv /srv/note /srv/renamed");
            default -> ask(sandbox, "+");
        }
    }

    /** What in the session is not as after that turn; empty if all is. */
    static List<String> differences(SandboxSession session, long turn) {
        Map<String, String> expected = expected(turn);
        Map<String, String> found = found(session);
        expected.put(
                "pid",
                turn < 2
                        ? "none"
                        : String.valueOf(session.sandbox().attributes().get("pid")));
        List<String> differences = new ArrayList<>();
        expected.forEach((name, value) -> {
            if (!value.equals(found.get(name))) {
                differences.add(name + " of turn " + turn + " should be " + value + " and is " + found.get(name));
            }
        });
        return differences;
    }

    private static Map<String, String> expected(long turn) {
        Map<String, String> state = new LinkedHashMap<>();
        String told = turn == 0 ? "none" : Long.toString(turn);
        state.put("commit", told);
        state.put("position", told);
        state.put("attribute", told);
        state.put("directory", turn < 3 ? "/root" : "/tmp");
        state.put("files", turn == 0 ? "" : turn < 7 ? "ask.py note service.py" : "ask.py renamed service.py");
        state.put("content", turn == 0 ? "" : turn < 5 ? "1" : turn == 5 ? "5" : "6");
        long count = turn < 4 ? 1 : turn < 6 ? 2 : turn < 8 ? 3 : 4;
        state.put("memory", turn < 2 ? "none" : count + " " + (turn < 6 ? 0 : 1 << 20));
        return state;
    }

    private static Map<String, String> found(SandboxSession session) {
        Map<String, String> state = new LinkedHashMap<>();
        Commit last = session.lastCommit();
        Sandbox sandbox = session.sandbox();
        state.put("commit", last == null ? "none" : Long.toString(last.turn()));
        state.put(
                "position",
                last == null ? "none" : last.position().path("message").asText());
        state.put("attribute", sandbox.attributes().getOrDefault("turn", "none"));
        state.put("directory", sandbox.shell(SHELL).workingDirectory());
        String[] lines = run(sandbox, LOOK).split("\n", -1);
        state.put("files", lines[0].strip());
        state.put("content", lines.length > 1 ? lines[1] : "");
        state.put("pid", lines.length > 2 ? lines[2] : "");
        state.put("memory", lines.length > 3 ? lines[3] : "");
        return state;
    }

    private static String run(Sandbox sandbox, String command) {
        ExecResult result = sandbox.exec(command);
        if (!result.isSuccess()) {
            throw new IllegalStateException(command + ": " + result.text());
        }
        return result.out().stripTrailing();
    }

    private static void ask(Sandbox sandbox, String wish) {
        run(sandbox, "python3 /srv/ask.py " + wish);
    }
}
