package dev.crab.samples.programs;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.session.TurnOutcome.Saved;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One program in a session of its own, through cycles of work, commit, crash, restore and probe. The crash is what the sandbox sees of one:
 * every process is killed at once in the middle of an uncommitted turn, the writable files are deleted, and the session is opened anew.
 */
final class Trial {
    private static final String KILL_ALL =
            "kill -9 -1; while " + Witness.PROCESSES + " | grep -q .; do sleep 0.05; done";

    private final CrabRuntime runtime;
    private final SandboxSpec spec;
    private final Program program;
    private final String session;

    Trial(CrabRuntime runtime, SandboxSpec spec, Program program) {
        this.runtime = runtime;
        this.spec = spec;
        this.program = program;
        this.session = "programs-" + program.name() + "-"
                + Long.toString(ProcessHandle.current().pid(), 36) + "-"
                + Long.toString(System.currentTimeMillis(), 36);
    }

    /** As many cycles as asked for, or up to the first that fails. */
    Row cycles(int count) {
        Row row = new Row(program);
        SandboxSession open = null;
        try {
            open = runtime.open(session, spec);
            for (int cycle = 1; cycle <= count; cycle++) {
                open = cycle(open, cycle, row);
            }
        } catch (TrialFailure e) {
            row.failed(e.why());
        } catch (CrabException e) {
            row.refused(e);
        } finally {
            close(open);
            delete();
        }
        return row;
    }

    private SandboxSession cycle(SandboxSession open, int cycle, Row row) {
        Sandbox before = open.sandbox();
        Turn turn = open.beginTurn();
        if (cycle == 1) {
            install(before);
        }
        Commands.run(before, program.work(), cycle);
        Witness.mark(before, cycle);
        Witness committed = Witness.look(before, program);
        TurnOutcome outcome = turn.commit(JsonNodeFactory.instance.objectNode());
        if (outcome.saved() != Saved.PROCESSES_AND_FILES) {
            throw new TrialFailure("the turn changed processes, but saved was " + outcome.saved() + ": "
                    + outcome.effects().reasons());
        }

        open.beginTurn();
        Commands.run(before, program.spoil(), cycle);
        Witness.spoil(before, cycle);
        open.close();

        SandboxSession again = runtime.resume(session);
        try {
            if (!(again.recovery() instanceof Recovery.Restored restored)
                    || restored.processesRestored() <= committed.processCount()) {
                throw new TrialFailure("processes were not restored but: " + again.recovery());
            }
            Sandbox sandbox = again.sandbox();
            List<String> differences = committed.differences(Witness.look(sandbox, program), sandbox, cycle);
            if (!differences.isEmpty()) {
                throw new TrialFailure(String.join("; ", differences));
            }
            String expected = program.expected(cycle);
            String answer = Commands.run(sandbox, program.probe(), cycle).strip();
            if (!answer.equals(expected)) {
                throw new TrialFailure("the probe answers \"" + answer + "\" instead of \"" + expected + "\"");
            }
            row.passed(outcome, restored);
            return again;
        } catch (RuntimeException e) {
            close(again);
            throw e;
        }
    }

    /**
     * Tries the probe: the program is not restored but started again on its files. What the probe answers then must be wrong.
     *
     * @return what it answers
     * @throws TrialFailure if it is content
     */
    String restart() {
        try (SandboxSession open = runtime.open(session, spec)) {
            Sandbox sandbox = open.sandbox();
            install(sandbox);
            Commands.run(sandbox, program.work(), 1);
            Commands.run(sandbox, KILL_ALL, 1);
            Commands.run(sandbox, program.start(), 1);
            ExecResult answer = Commands.exec(sandbox, String.join("\n", program.probe()), 1);
            if (answer.isSuccess() && answer.out().strip().equals(program.expected(1))) {
                throw new TrialFailure("the probe does not tell a restart from a restore: it answers \""
                        + answer.out().strip() + "\"");
            }
            return answer.text().strip();
        } finally {
            delete();
        }
    }

    private static void close(@Nullable SandboxSession session) {
        if (session != null) {
            session.close();
        }
    }

    private void delete() {
        if (runtime.sessions().contains(session)) {
            runtime.delete(session);
        }
    }

    private void install(Sandbox sandbox) {
        program.files().forEach(file -> sandbox.writeFile("/srv/" + file, Catalogue.file(file)));
        Commands.run(sandbox, program.prepare(), 1);
        Commands.run(sandbox, program.start(), 1);
    }
}
