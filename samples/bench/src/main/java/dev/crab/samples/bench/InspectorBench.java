package dev.crab.samples.bench;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.inspector.InspectorTier;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;

/**
 * What the inspector costs: the judgement at the boundary, by what is in the sandbox; and the processor time that its programs add to what
 * runs meanwhile, inside a sandbox and beside it. With the programs and without are interleaved run by run.
 */
@Command(
        name = "inspector",
        mixinStandardHelpOptions = true,
        description = {
            "The judgement of turns, and what the inspector's programs add to the processor time of programs.",
            "",
            "Ratios are of processor time (user and system) with the programs attached to that without.",
            ""
        })
final class InspectorBench extends Measurement {
    /** Not inside: the image has no compiler. */
    private static final String BESIDE_ONLY = "cc";

    /** What runs with and without the programs: bash, in a scratch directory of its own. */
    private static final Map<String, String> WORKLOADS = Map.of(
            "find", "find /usr/share /usr/lib -xdev | wc -l",
            "tar", "tar cf - -C /usr/lib/python3.11 . | cat > /dev/null",
            "cc", "bash cc.sh",
            "python compile", "python3 -m compileall -q -f py",
            "git status", "git -C repository status --short | wc -l",
            "python open/write/close", "python3 files.py");

    private static final String SCRATCH = """
            mkdir -p repository && cd repository && git init -q . && for i in $(seq 300); do echo $i > $i; done && git add -A
            git -c user.name=a -c user.email=a@b commit -qm first; cd ..
            mkdir py; cp -r /usr/lib/python3.11/json /usr/lib/python3.11/email /usr/lib/python3.11/http py
            cat > cc.sh <<'END'
            for i in 1 2 3 4; do
                echo "int f$i(void) { return $i; }" > f$i.c
                cc -O1 -c f$i.c
            done
            ar rc f.a *.o
            END
            cat > files.py <<'END'
            for i in range(5000):
                with open('file%d' % (i % 50), 'w') as f:
                    f.write('x')
            END
            """;

    private static final int MANY_FILES = 20_000;

    /** Reads and writes one page without a pause, some hundred thousand calls a second. */
    private static final String HOT_WRITER = """
            setsid python3 -c '
            import os
            file = os.open("/root/hot", os.O_RDWR | os.O_CREAT)
            page = b"x" * 4096
            while True:
                os.pwrite(file, page, 0)
                os.pread(file, 4096, 0)' > /dev/null 2>&1 < /dev/null &
            sleep 0.5""";

    @Override
    Report measure(CrabRuntime runtime, int count) {
        Report report = new Report("Inspector", Machine.describe());
        judgements(runtime, count, report);
        layers(runtime, count, report);
        layers(runtime, count, report);
        overhead(runtime, count, report);
        return report;
    }

    private void judgements(CrabRuntime runtime, int count, Report report) {
        Series nothing = new Series("judge: nothing left behind");
        Series file = new Series("judge: one file");
        Series many = new Series("judge: one file beside " + MANY_FILES);
        Series service = new Series("judge: a web server answered");
        Series hot = new Series("judge: beside a hot writer");
        Series hotFreeze = new Series("  frozen for its dump");
        try (SandboxSession plain = runtime.open(sessionName("plain"), SandboxSpec.defaults());
                SandboxSession full = runtime.open(sessionName("full"), SandboxSpec.defaults());
                SandboxSession idle = runtime.open(sessionName("idle"), SandboxSpec.defaults());
                SandboxSession busy = runtime.open(sessionName("busy"), SandboxSpec.defaults())) {
            turn(full, "mkdir /root/many && cd /root/many && seq " + MANY_FILES + " | xargs touch");
            turn(idle, IDLE_SANDBOX);
            turn(busy, HOT_WRITER);
            for (int i = -warmUp; i < count; i++) {
                judge(nothing, plain, "ls -lR /etc | wc -l", i);
                judge(file, plain, "echo NUMBER > /root/file", i);
                judge(many, full, "echo NUMBER > /root/file", i);
                judge(service, idle, ASK_SERVER, i);
                TurnOutcome outcome = judge(hot, busy, "true", i);
                add(hotFreeze, outcome.freezeNanos(), i >= 0);
                progress("judgement", i + 1 + warmUp, count + warmUp);
            }
        }
        report.add(nothing, file, many, service, hot, hotFreeze);
    }

    private void layers(CrabRuntime runtime, int count, Report report) {
        for (int files : LayerRows.SIZES) {
            String name = sessionName("layer");
            try (SandboxSession session = runtime.open(name, SandboxSpec.defaults());
                    LayerRows rows = new LayerRows(runtime.config().data(), name, files)) {
                turn(session, rows.fill());
                rows.start();
                for (int i = -warmUp; i < count; i++) {
                    rows.round(session.sandbox(), i >= 0);
                    progress("layer of " + files, i + 1 + warmUp, count + warmUp);
                }
                rows.report(report);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static TurnOutcome judge(Series series, SandboxSession session, String command, int number) {
        TurnOutcome outcome = turn(session, command.replace("NUMBER", Integer.toString(number)));
        add(series, outcome.judgeNanos(), number >= 0);
        return outcome;
    }

    /** One workload's processor time. */
    private record Workload(
            String name, String command, Series inside, Series insideOff, Series beside, Series besideOff) {
        static Workload of(String name, String command) {
            return new Workload(
                    name,
                    command,
                    new Series(name + ": inside, programs on"),
                    new Series(name + ": inside, off"),
                    new Series(name + ": beside, programs on"),
                    new Series(name + ": beside, off"));
        }
    }

    private void overhead(CrabRuntime runtime, int count, Report report) {
        List<Workload> workloads = new ArrayList<>();
        WORKLOADS.entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(entry -> workloads.add(Workload.of(entry.getKey(), entry.getValue())));
        Path scratch = Scratch.make();
        try {
            host(scratch, SCRATCH);
            int rounds = Math.max(1, count / 3);
            for (int i = -1; i < rounds; i++) {
                for (InspectorTier tier : List.of(InspectorTier.TRACEPOINT, InspectorTier.ALWAYS)) {
                    round(runtime, tier, scratch, workloads, i >= 0);
                }
                progress("round", i + 2, rounds + 1);
            }
        } finally {
            Scratch.delete(scratch);
        }
        for (Workload workload : workloads) {
            if (!workload.name.equals(BESIDE_ONLY)) {
                report.add(workload.inside, workload.insideOff);
                report.ratio(workload.name + ", inside: on / off", workload.inside, workload.insideOff);
            }
            report.add(workload.beside, workload.besideOff);
            report.ratio(workload.name + ", beside: on / off", workload.beside, workload.besideOff);
        }
        report.note(
                "The series of workloads are processor time, user and system together; beside means on the host while a tool runs in"
                        + " some sandbox.");
    }

    /** All workloads once under that tier, inside and beside, while a turn is open. */
    private void round(
            CrabRuntime runtime, InspectorTier tier, Path scratch, List<Workload> workloads, boolean counts) {
        CrabRuntime.Builder builder =
                CrabRuntime.builder().dataDirectory(runtime.config().data()).inspector(tier);
        String name = sessionName(tier.label());
        boolean on = tier == InspectorTier.TRACEPOINT;
        try (CrabRuntime other = builder.build();
                SandboxSession session = other.open(name, SandboxSpec.defaults())) {
            run(session.sandbox(), "mkdir -p /srv/scratch && cd /srv/scratch && " + SCRATCH);
            Turn turn = session.beginTurn();
            for (Workload workload : workloads) {
                if (!workload.name.equals(BESIDE_ONLY)) {
                    add(on ? workload.inside : workload.insideOff, inside(session, workload.command), counts);
                }
                add(on ? workload.beside : workload.besideOff, host(scratch, workload.command), counts);
            }
            turn.abandon();
        }
    }

    private static long inside(SandboxSession session, String command) {
        ExecResult result = session.sandbox().exec(ExecRequest.of("/bin/bash", "-c", timed("/srv/scratch", command)));
        return processorNanos(result.err(), command);
    }

    private static long host(Path directory, String command) {
        try {
            Process process = new ProcessBuilder("/bin/bash", "-c", timed(directory.toString(), command))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String times = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
            process.waitFor();
            return processorNanos(times, command);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Prints user and system time in seconds as the last line of standard error. */
    private static String timed(String directory, String command) {
        return "cd " + directory + " || exit 1; TIMEFORMAT='%3U %3S'; time { " + command + "\n} > /dev/null";
    }

    private static long processorNanos(String stderr, String command) {
        List<String> lines = stderr.strip().lines().toList();
        String[] times = lines.get(lines.size() - 1).split(" ", -1);
        if (times.length != 2 || lines.size() > 1) {
            throw new IllegalStateException("failed: " + command + ": " + stderr);
        }
        return Math.round((Double.parseDouble(times[0]) + Double.parseDouble(times[1])) * 1e9);
    }
}
