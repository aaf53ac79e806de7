package dev.crab.samples.bench;

import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.TurnOutcome;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** What many branches of one large process take: of the disk only what differs, of memory all. */
@Command(
        name = "branches",
        mixinStandardHelpOptions = true,
        description = {
            "Many branches from one turn of a redis that holds data in memory only, all of them running at once, and one turn of a few writes in"
                    + " each. One run; --runs and --warm-up have no meaning here.",
            "",
            "Disk is what the branches' sessions, objects and files take, shared parts counted once. Memory is what their processes hold (proportional"
                    + " set size) and by how much the host's available memory fell. Where not all would fit into memory, they are opened in"
                    + " waves, and the note says so.",
            ""
        })
final class BranchesBench extends Measurement {
    private static final String START = """
            set -o pipefail
            setsid redis-server --save '' --appendonly no > /dev/null 2>&1 < /dev/null &
            for i in $(seq 200); do redis-cli ping > /dev/null 2>&1 && break; sleep 0.05; done
            python3 -c '
            import base64, os
            for i in range(MEBIBYTES * 256):
                print("SET", "key-" + str(i), base64.b64encode(os.urandom(3072)).decode())
            ' | redis-cli --pipe > /dev/null
            """;
    private static final int WRITES = 10;

    /** Of the host's available memory; the rest is for dumps that are being unpacked. */
    private static final double SHARE = 0.7;

    @Option(
            names = "--branches",
            paramLabel = "N",
            defaultValue = "64",
            description = "How many. Default: ${DEFAULT-VALUE}.")
    private int branches;

    @Option(
            names = "--megabytes",
            paramLabel = "N",
            defaultValue = "100",
            description = "What redis holds, in MiB. Default: ${DEFAULT-VALUE}.")
    private int megabytes;

    @Option(
            names = "--image",
            paramLabel = "ROOTFS",
            required = true,
            description =
                    "The sandboxes' root file system, with redis-server and python3. ./crab bench branches has it made if none is given.")
    private Path image = Path.of("/");

    @Override
    Report measure(CrabRuntime runtime, int count) {
        Series save = new Series("saving the turn: frozen");
        Series made = new Series("branches: all can run a command");
        Series turn = new Series("a turn of " + WRITES + " writes in each: saving");
        Path data = runtime.config().data();
        String session = sessionName("branches");
        SandboxSpec spec = SandboxSpec.defaults().withImage(new SandboxImage.Directory(image.toAbsolutePath()));
        Report report = new Report("Branches of a redis with " + megabytes + " MiB", Machine.describe());
        List<String> names = new ArrayList<>();
        try (SandboxSession parent = runtime.open(session, spec)) {
            TurnOutcome outcome = turn(parent, START.replace("MEBIBYTES", Integer.toString(megabytes)));
            save.add(outcome.freezeNanos());
            SessionUse whole = SessionUse.of(data, session);
            int wave = waveOf(SessionUse.memory(session));
            long memory = 0;
            long available = 0;
            long written = 0;
            SessionUse grown = whole;
            SessionUse after = whole;
            for (int from = 0; from < branches; from += wave) {
                int size = Math.min(wave, branches - from);
                long before = Machine.availableMemory();
                long asked = System.nanoTime();
                List<SandboxSession> open = parent.branch(1, size);
                made.add(System.nanoTime() - asked);
                open.forEach(one -> names.add(one.id()));
                progress("branch", names.size(), branches);
                try {
                    memory += SessionUse.memory(session + "-b");
                    available += before - Machine.availableMemory();
                    SessionUse linked = SessionUse.of(data, session);
                    grown = from == 0 ? linked : grown.plus(linked.minus(after));
                    for (SandboxSession one : open) {
                        written += write(one, turn);
                    }
                    open.forEach(BranchesBench::requireOwn);
                    after = SessionUse.of(data, session);
                } finally {
                    open.forEach(SandboxSession::close);
                }
            }
            requireUntouched(parent);
            report.add(save, made, turn);
            report.note(String.format(
                    Locale.ROOT,
                    "The turn takes %s. %d branches, %s, added %s; one turn of %d writes of 1 kB in each added %s more (written: %.1f MB),"
                            + " %.2f MB a branch.",
                    whole,
                    branches,
                    wave >= branches ? "all open at once" : "open in waves of " + wave + ", for want of memory",
                    grown.minus(whole),
                    WRITES,
                    after.minus(grown),
                    written / 1e6,
                    after.minus(grown).bytes() / 1e6 / branches));
            report.note(String.format(
                    Locale.ROOT,
                    "Their processes held %.0f MB of memory, %.1f MB a branch; available memory fell by %.0f MB.",
                    memory / 1e6,
                    memory / 1e6 / branches,
                    available / 1e6));
            return report;
        } finally {
            names.forEach(runtime::delete);
        }
    }

    private int waveOf(long memoryOfOne) {
        long fit = (long) (SHARE * Machine.availableMemory() / Math.max(1, memoryOfOne));
        return (int) Math.max(1, Math.min(branches, fit));
    }

    /** A few writes that no other branch has; gives what saving them wrote. */
    private static long write(SandboxSession branch, Series series) {
        TurnOutcome outcome = turn(
                branch,
                "for i in $(seq " + WRITES + "); do redis-cli set own-$i \"" + branch.id()
                        + " $(head -c 720 /dev/urandom | base64 -w 0)\"; done > /dev/null; echo " + branch.id()
                        + " > /srv/own");
        series.add(outcome.captureNanos() + outcome.persistNanos());
        return outcome.bytesWritten();
    }

    private static void requireOwn(SandboxSession branch) {
        require(branch.sandbox(), branch.id() + "\n" + branch.id(), branch.id());
    }

    private static void requireUntouched(SandboxSession parent) {
        require(parent.sandbox(), "", null);
    }

    private static void require(Sandbox sandbox, String expected, @Nullable String who) {
        ExecResult own = sandbox.exec("redis-cli get own-" + WRITES + " | cut -d ' ' -f 1; cat /srv/own 2> /dev/null");
        if (!own.out().strip().equals(expected)) {
            throw new IllegalStateException(
                    (who == null ? "the session that was branched" : who) + " has \"" + own.text() + "\"");
        }
    }
}
