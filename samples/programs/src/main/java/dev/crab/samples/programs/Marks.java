package dev.crab.samples.programs;

import dev.crab.runtime.sandbox.Sandbox;

/**
 * What whoever goes its own way has beside every program: a file of its own name, and a server that has the name in its memory and listens
 * on a port that is the same for all.
 */
final class Marks {
    /** None of the programs listens there. */
    private static final int PORT = 8999;

    private static final String SERVER =
            "import socket, sys\nlistener = socket.create_server((\"127.0.0.1\", " + PORT + "))\n"
                    + "while True:\n    peer, _ = listener.accept()\n    peer.sendall(sys.argv[1].encode())\n    peer.close()\n";
    private static final String ASK = "(exec 3<> /dev/tcp/127.0.0.1/" + PORT + " && cat <&3) 2> /dev/null";

    private Marks() {}

    static void make(Sandbox sandbox, String name) {
        sandbox.writeFile("/srv/mark-" + name, name);
        sandbox.writeFile("/srv/marker.py", SERVER);
        Commands.run(
                sandbox,
                "setsid python3 marker.py " + name + " > /dev/null 2>&1 < /dev/null &\nuntil " + ASK
                        + "; do sleep 0.05; done",
                0);
    }

    /**
     * Looks for marks.
     *
     * @throws TrialFailure if it does not have exactly its own
     */
    static void requireOwn(Sandbox sandbox, String name) {
        String found =
                Commands.run(sandbox, "ls mark-*; cat mark-*; echo; " + ASK, 0).strip();
        String expected = "mark-" + name + "\n" + name + "\n" + name;
        if (!found.equals(expected)) {
            throw new TrialFailure(name + " has the marks \"" + found + "\" instead of \"" + expected + "\"");
        }
    }

    /**
     * Looks for marks.
     *
     * @throws TrialFailure if there is one, or somebody listens on their port
     */
    static void requireNone(Sandbox sandbox) {
        String found = Commands.run(sandbox, "ls mark-* 2> /dev/null || " + ASK + " || echo none", 0)
                .strip();
        if (!found.equals("none")) {
            throw new TrialFailure("what nobody marked has the marks \"" + found + "\"");
        }
    }
}
