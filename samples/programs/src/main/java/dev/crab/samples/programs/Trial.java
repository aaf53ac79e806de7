package dev.crab.samples.programs;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.session.TurnOutcome.Saved;
import org.jspecify.annotations.Nullable;

/**
 * One program in a session of its own, through cycles of work, commit, crash, restore and probe. The crash is what the sandbox sees of one:
 * every process is killed at once in the middle of an uncommitted turn, the writable files are deleted, and the session is opened anew.
 */
final class Trial {
    private final CrabRuntime runtime;
    private final SandboxSpec spec;
    private final Program program;
    private final Subject subject;
    private final String session;

    Trial(CrabRuntime runtime, SandboxSpec spec, Program program) {
        this.runtime = runtime;
        this.spec = spec;
        this.program = program;
        this.subject = new Subject(program);
        this.session = subject.newSession();
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
            subject.install(before);
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
            committed.requireSame(program, sandbox, cycle);
            subject.ask(sandbox, cycle);
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
            subject.install(sandbox);
            Commands.run(sandbox, program.work(), 1);
            return subject.startAfresh(sandbox);
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
}
