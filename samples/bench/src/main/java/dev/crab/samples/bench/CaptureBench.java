package dev.crab.samples.bench;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.session.TurnOutcome.Saved;
import java.nio.file.Path;
import picocli.CommandLine.Command;

/**
 * What a turn costs: capture, the freeze in it, and making it durable; beside it, a command in a sandbox, and what runc takes for the like.
 * Kinds are interleaved, so that a change of the machine's load hits all of them.
 */
@Command(
        name = "capture",
        mixinStandardHelpOptions = true,
        description = {
            "Captures of an idle sandbox (bash and a python web server), of files only, and a command in a sandbox.",
            "",
            "Every run is a whole turn through the runtime: a command in the sandbox, the judgement of its effect, capture,"
                    + " persist, commit.",
            ""
        })
final class CaptureBench extends Measurement {
    /** A turn's costs over the runs. */
    private static final class Kind {
        final String command;
        final Saved expected;
        final Series capture;
        final Series freeze;
        final Series persist;
        int otherwise;

        Kind(String name, String command, Saved expected) {
            this.command = command;
            this.expected = expected;
            capture = new Series(name + ": capture");
            freeze = new Series("  of it frozen");
            persist = new Series("  then, running: persist and commit");
        }

        void run(SandboxSession session, int number, boolean counts) {
            TurnOutcome outcome = turn(session, command.replace("NUMBER", Integer.toString(number)));
            if (!counts) {
                return;
            }
            if (outcome.saved() != expected) {
                otherwise++;
                return;
            }
            capture.add(outcome.captureNanos());
            freeze.add(outcome.freezeNanos());
            persist.add(outcome.persistNanos());
        }

        void report(Report report) {
            report.add(capture, freeze, persist);
            if (otherwise > 0) {
                report.note(otherwise + " runs of \"" + capture.name() + "\" saved something else than " + expected
                        + " and are not counted.");
            }
        }
    }

    @Override
    Report measure(CrabRuntime runtime, int count) {
        Kind files = new Kind("files, only pid 1 runs", "echo NUMBER > /root/file", Saved.FILES);
        Kind filesBeside = new Kind("files, beside an idle bash", "echo NUMBER > /root/file", Saved.FILES);
        Kind processes = new Kind("bash + http", ASK_SERVER, Saved.PROCESSES_AND_FILES);
        Series exec = new Series("command true in the sandbox");
        Series runcExec = new Series("command true by runc exec");
        Series create = new Series("a new sandbox");
        Series runcCreate = new Series("a new container by runc create, start");
        Path image = runtime.config().data().resolve("images/debian");
        try (SandboxSession empty = runtime.open(sessionName("files"), SandboxSpec.defaults());
                SandboxSession waiting = runtime.open(sessionName("waiting"), SandboxSpec.defaults());
                SandboxSession idle = runtime.open(sessionName("idle"), SandboxSpec.defaults());
                PlainRunc runc = new PlainRunc(image)) {
            String container = runc.start();
            turn(waiting, IDLE_BASH);
            turn(idle, IDLE_SANDBOX);
            for (int i = -warmUp; i < count; i++) {
                boolean counts = i >= 0;
                files.run(empty, i, counts);
                filesBeside.run(waiting, i, counts);
                processes.run(idle, i, counts);
                add(exec, execTrue(idle.sandbox()), counts);
                long start = System.nanoTime();
                runc.execTrue(container);
                add(runcExec, System.nanoTime() - start, counts);
                start = System.nanoTime();
                try (SandboxSession fresh = runtime.open(sessionName("new" + (i + warmUp)), SandboxSpec.defaults())) {
                    fresh.sandbox();
                    add(create, System.nanoTime() - start, counts);
                }
                start = System.nanoTime();
                String another = runc.start();
                add(runcCreate, System.nanoTime() - start, counts);
                runc.delete(another);
                progress("run", i + 1 + warmUp, count + warmUp);
            }
        }
        Report report = new Report("Capture", Machine.describe());
        processes.report(report);
        files.report(report);
        filesBeside.report(report);
        report.add(exec, runcExec, create, runcCreate);
        report.ratio("runc exec / command in the sandbox", runcExec, exec);
        report.ratio("runc create, start / a new sandbox", runcCreate, create);
        return report;
    }
}
