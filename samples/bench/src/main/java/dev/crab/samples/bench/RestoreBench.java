package dev.crab.samples.bench;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.SandboxSession.Recovery;
import picocli.CommandLine.Command;

/** How long a sandbox takes to come back, verified, from its last commit. */
@Command(
        name = "restore",
        mixinStandardHelpOptions = true,
        description = {
            "Opening a session that exists: its sandbox is brought back and verified.",
            "",
            "With only pid 1, with bash and a python web server, and with 100 MB of memory in a python process.",
            ""
        })
final class RestoreBench extends Measurement {
    private static final String MEMORY = """
            nohup python3 -c '
            import os, time
            held = os.urandom(100 << 20)
            open("/tmp/ready", "w").close()
            time.sleep(1e9)' > /dev/null 2>&1 &
            until [ -e /tmp/ready ]; do sleep 0.05; done""";

    private record Kind(String id, Series open, Series verify, Series first, int processes) {}

    @Override
    Report measure(CrabRuntime runtime, int count) {
        Kind files = prepare(runtime, "files", "only pid 1", "echo saved > /root/file");
        Kind idle = prepare(runtime, "idle", "bash + http", IDLE_SANDBOX);
        Kind memory = prepare(runtime, "memory", "python with 100 MB", MEMORY);
        Report report = new Report("Restore", Machine.describe());
        for (int i = -warmUp; i < count; i++) {
            for (Kind kind : new Kind[] {files, idle, memory}) {
                restore(runtime, kind, i >= 0);
            }
            progress("run", i + 1 + warmUp, count + warmUp);
        }
        for (Kind kind : new Kind[] {files, idle, memory}) {
            report.add(kind.first(), kind.open(), kind.verify());
        }
        return report;
    }

    private Kind prepare(CrabRuntime runtime, String kind, String name, String command) {
        String id = sessionName(kind);
        try (SandboxSession session = runtime.open(id, SandboxSpec.defaults())) {
            turn(session, command);
        }
        try (SandboxSession session = runtime.resume(id)) {
            return new Kind(
                    id,
                    new Series("  of that, opening"),
                    new Series("  of that, verifying"),
                    new Series(name + ": to the end of a first command"),
                    restored(session).processesRestored());
        }
    }

    private static void restore(CrabRuntime runtime, Kind kind, boolean counts) {
        long start = System.nanoTime();
        try (SandboxSession session = runtime.resume(kind.id())) {
            long open = System.nanoTime() - start;
            Recovery.Restored restored = restored(session);
            int found = restored.processesRestored();
            if (found != kind.processes()) {
                throw new IllegalStateException("restored " + found + " processes instead of " + kind.processes()
                        + " of " + kind.first().name());
            }
            execTrue(session.sandbox());
            long first = System.nanoTime() - start;
            if (counts) {
                kind.open().add(open);
                kind.verify().add(restored.verifyNanos());
                kind.first().add(first);
            }
        }
    }

    private static Recovery.Restored restored(SandboxSession session) {
        if (session.recovery() instanceof Recovery.Restored restored) {
            return restored;
        }
        throw new IllegalStateException("session " + session.id() + " was not restored but started anew");
    }
}
