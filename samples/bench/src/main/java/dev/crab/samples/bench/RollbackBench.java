package dev.crab.samples.bench;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.Rollback;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** How long going back to a turn takes, with a sandbox parked for it and without, and branching. Kinds are interleaved. */
@Command(
        name = "rollback",
        mixinStandardHelpOptions = true,
        defaultValueProvider = RollbackBench.WarmUp.class,
        description = {
            "Going back to the last turn and branching from it, of an idle sandbox (bash and a python web server).",
            "",
            "From the call until the sandbox can run a command, the first command apart; with a sandbox that was parked ahead for the turn,"
                    + " and with a restore. Each begins a quarter of a second after the next sandbox is parked, when what the one before"
                    + " left to do in the background is done.",
            ""
        })
final class RollbackBench extends Measurement {
    /** So that there were twenty times as many branches as are made at once. */
    static final class WarmUp extends LongWarmUp {
        WarmUp() {
            super(60);
        }
    }

    /** Until something is parked, at most: a minute. */
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    /** In which the sandbox that was left ends. */
    private static final long REST_NANOS = 250_000_000L;

    @Option(
            names = "--branches",
            paramLabel = "N",
            defaultValue = "8",
            description = "Branches made at once. Default: ${DEFAULT-VALUE}.")
    private int branches;

    /** One way of going back over the runs. */
    private record Kind(SandboxSession session, Series back, Series verify, Series first, boolean parked) {
        void run(boolean counts) {
            Rollback rollback = session.rollbackTo(1);
            long first = execTrue(session.sandbox());
            if (rollback.standby() != parked) {
                throw new IllegalStateException("a parked sandbox was " + (parked ? "not " : "") + "taken");
            }
            add(back, rollback.nanos(), counts);
            add(verify, rollback.verifyNanos(), counts);
            add(this.first, first, counts);
        }
    }

    @Override
    Report measure(CrabRuntime runtime, int count) {
        Series freeze = new Series("saving the turn, bash + http: frozen");
        Series branch = new Series(branches + " branches: all can run a command");
        Series branchFirst = new Series("  then a first command in each");
        try (CrabRuntime ahead = CrabRuntime.builder()
                        .set(CrabConfig.DATA, runtime.config().data().toString())
                        .set(CrabConfig.STANDBY, "1")
                        .build();
                SandboxSession plain = prepare(runtime, "plain", freeze);
                SandboxSession standby = prepare(ahead, "standby", freeze)) {
            Kind restored = new Kind(
                    plain,
                    new Series("rollback by a restore"),
                    new Series("  of that, verifying"),
                    new Series("  then a first command"),
                    false);
            Kind parked = new Kind(
                    standby,
                    new Series("rollback to a parked turn"),
                    new Series("  of that, verifying (done when parked)"),
                    new Series("  then a first command"),
                    true);
            Report report = new Report("Rollback and branching", Machine.describe());
            for (int i = -warmUp; i < count; i++) {
                rest(standby);
                restored.run(i >= 0);
                rest(standby);
                parked.run(i >= 0);
                if (i % 3 == 0) {
                    rest(standby);
                    branch(runtime, plain, branch, branchFirst, i >= 0);
                }
                progress("run", i + 1 + warmUp, count + warmUp);
            }
            report.add(freeze, parked.back(), parked.verify(), parked.first());
            report.add(restored.back(), restored.verify(), restored.first(), branch, branchFirst);
            report.ratio("restore : parked", restored.back(), parked.back());
            report.note(memory(runtime, plain));
            return report;
        }
    }

    private SandboxSession prepare(CrabRuntime runtime, String kind, Series freeze) {
        SandboxSession session = runtime.open(sessionName(kind), SandboxSpec.defaults());
        Turn turn = session.beginTurn();
        run(session.sandbox(), IDLE_SANDBOX);
        TurnOutcome outcome = turn.commit(JsonNodeFactory.instance.objectNode());
        freeze.add(outcome.freezeNanos());
        return session;
    }

    private static void rest(SandboxSession standby) {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (standby.standbys() == 0) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("nothing was parked within a minute");
            }
            LockSupport.parkNanos(1_000_000);
        }
        LockSupport.parkNanos(REST_NANOS);
    }

    private void branch(CrabRuntime runtime, SandboxSession session, Series all, Series first, boolean counts) {
        long start = System.nanoTime();
        List<SandboxSession> made = session.branch(1, branches);
        add(all, System.nanoTime() - start, counts);
        for (SandboxSession one : made) {
            add(first, execTrue(one.sandbox()), counts);
        }
        made.forEach(SandboxSession::close);
        made.forEach(one -> runtime.delete(one.id()));
    }

    /** What the branches take of the host's memory and of the file system's, together. */
    private String memory(CrabRuntime runtime, SandboxSession session) {
        long memory = Machine.availableMemory();
        long disk = Machine.used(runtime.config().data());
        List<SandboxSession> made = session.branch(1, branches);
        String note = String.format(
                Locale.ROOT,
                "%d branches took %.1f MB of memory and %.1f MB of disk together.",
                branches,
                (memory - Machine.availableMemory()) / 1e6,
                (Machine.used(runtime.config().data()) - disk) / 1e6);
        made.forEach(SandboxSession::close);
        made.forEach(one -> runtime.delete(one.id()));
        return note;
    }
}
