package dev.crab.samples.programs;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.Rollback;
import dev.crab.runtime.session.SandboxSession;
import dev.crab.runtime.session.Turn;
import dev.crab.runtime.session.TurnOutcome;
import dev.crab.runtime.session.TurnOutcome.Saved;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/**
 * One program that goes back to a turn, and from there on in several directions at once, each of which must have all that is its own and
 * nothing that is another's: files, memory, a port, turns and journal.
 */
final class BranchTrial {
    /** The kind of the journal records that are compared. */
    private static final String SAID = "said";

    private final CrabRuntime runtime;
    private final SandboxSpec spec;
    private final Program program;
    private final Subject subject;
    private final String session;

    BranchTrial(CrabRuntime runtime, SandboxSpec spec, Program program) {
        this.runtime = runtime;
        this.spec = spec;
        this.program = program;
        this.subject = new Subject(program);
        this.session = subject.newSession();
    }

    /** With so many branches that are open at once. */
    BranchRow branches(int count) {
        BranchRow row = new BranchRow(program);
        try (SandboxSession parent = runtime.open(session, spec)) {
            Witness at = work(parent);
            Rollback back = goBack(parent, at);
            row.wentBack(back.nanos());
            subject.ask(parent.sandbox(), 1);
            goBack(parent, at);
            branches(parent, at, count, row);
            requireUntouched(parent, at);
            parent.rollbackTo(1);
            subject.startAfresh(parent.sandbox());
        } catch (TrialFailure e) {
            row.failed(e.why());
        } catch (CrabException e) {
            row.refused(e);
        } finally {
            delete();
        }
        return row;
    }

    /** A turn to come back to, and another one that is to be undone. */
    private Witness work(SandboxSession parent) {
        Sandbox sandbox = parent.sandbox();
        Turn turn = parent.beginTurn();
        subject.install(sandbox);
        Commands.run(sandbox, program.work(), 1);
        Witness.mark(sandbox, 1);
        Witness witness = Witness.look(sandbox, program);
        say(parent, "at the turn");
        commit(turn);

        Turn next = parent.beginTurn();
        if (program.spoil().isEmpty()) {
            Commands.run(sandbox, program.work(), 2);
        } else {
            Commands.run(sandbox, program.spoil(), 1);
        }
        Witness.spoil(sandbox, 1);
        Marks.make(sandbox, "undone");
        commit(next);
        say(parent, "undone");
        return witness;
    }

    private static void commit(Turn turn) {
        TurnOutcome outcome = turn.commit(JsonNodeFactory.instance.objectNode());
        if (outcome.saved() != Saved.PROCESSES_AND_FILES) {
            throw new TrialFailure("the turn changed processes, but saved was " + outcome.saved() + ": "
                    + outcome.effects().reasons());
        }
    }

    private Rollback goBack(SandboxSession parent, Witness at) {
        Rollback back = parent.rollbackTo(1);
        if (back.processesRestored() <= at.processCount()) {
            throw new TrialFailure(
                    "of " + at.processCount() + " processes and pid 1, " + back.processesRestored() + " were restored");
        }
        at.requireSame(program, parent.sandbox(), 1);
        Marks.requireNone(parent.sandbox());
        requireHistory(parent, 1, List.of("at the turn", "undone"));
        return back;
    }

    private void branches(SandboxSession parent, Witness at, int count, BranchRow row) {
        List<String> names = IntStream.rangeClosed(1, count)
                .mapToObj(i -> session + "-b" + i)
                .toList();
        List<SandboxSession> open = new ArrayList<>();
        try {
            if (program.passes()) {
                long nanos = 0;
                for (int i = 0; i < count; i++) {
                    long asked = System.nanoTime();
                    open.addAll(parent.branch(1, List.of(names.get(i))));
                    nanos += System.nanoTime() - asked;
                    diverge(open.get(i), i + 1, at);
                }
                row.branched(nanos);
                for (int i = 0; i < count; i++) {
                    open.get(i).rollbackTo(2);
                    requireOwn(open.get(i), i + 1);
                    row.passed();
                }
            } else {
                long asked = System.nanoTime();
                open.addAll(parent.branch(1, names));
                row.branched(System.nanoTime() - asked);
                atOnce(count, i -> diverge(open.get(i), i + 1, at));
                atOnce(count, i -> {
                    requireOwn(open.get(i), i + 1);
                    synchronized (row) {
                        row.passed();
                    }
                });
            }
        } finally {
            open.forEach(SandboxSession::close);
        }
    }

    /** Goes on by so many cycles, in one turn. */
    private void diverge(SandboxSession branch, int number, Witness at) {
        Sandbox sandbox = branch.sandbox();
        at.requireSame(program, sandbox, 1);
        Marks.requireNone(sandbox);
        subject.ask(sandbox, 1);
        Turn turn = branch.beginTurn();
        for (int cycle = 2; cycle <= cycleOf(number); cycle++) {
            if (cycle > 2) {
                subject.ask(sandbox, cycle - 1);
            }
            Commands.run(sandbox, program.work(), cycle);
        }
        Marks.make(sandbox, branch.id());
        say(branch, branch.id());
        commit(turn);
    }

    /** The cycle that a branch ends in: another one for each, where the probe tells them apart. */
    private int cycleOf(int number) {
        return program.tellsCyclesApart() ? number + 1 : 2;
    }

    private void requireOwn(SandboxSession branch, int number) {
        Sandbox sandbox = branch.sandbox();
        subject.ask(sandbox, cycleOf(number));
        Marks.requireOwn(sandbox, branch.id());
        requireHistory(branch, 2, List.of("at the turn", branch.id()));
        if (program.tellsCyclesApart()) {
            // One that it has not come through itself: of those the screen of a terminal may still tell.
            Subject.Answer answer = subject.answer(sandbox, cycleOf(number + 1));
            if (answer.right()) {
                throw new TrialFailure(branch.id() + " answers as another one should: \"" + answer.text() + "\"");
            }
        }
    }

    /** While the branches went their ways it ran. */
    private void requireUntouched(SandboxSession parent, Witness at) {
        Marks.requireNone(parent.sandbox());
        requireHistory(parent, 1, List.of("at the turn", "undone"));
        if (program.passes()) {
            goBack(parent, at);
        } else {
            at.requireSame(program, parent.sandbox(), 1);
        }
        subject.ask(parent.sandbox(), 1);
    }

    private static void say(SandboxSession to, String what) {
        to.journal().append(SAID, JsonNodeFactory.instance.objectNode().put("what", what));
    }

    private void requireHistory(SandboxSession of, int turns, List<String> said) {
        List<String> records = runtime.archive(of.id()).records().stream()
                .filter(entry -> entry.kind().equals(SAID))
                .map(entry -> entry.body().path("what").asText())
                .toList();
        if (of.turns().size() != turns || !records.equals(said)) {
            throw new TrialFailure(of.id() + " has " + of.turns().size() + " turns instead of " + turns
                    + ", and its journal says " + records + " instead of " + said);
        }
    }

    private interface Step {
        void at(int index);
    }

    private static void atOnce(int count, Step step) {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int index = i;
                running.add(threads.submit(() -> step.at(index)));
            }
            RuntimeException first = null;
            for (Future<?> one : running) {
                try {
                    one.get();
                } catch (ExecutionException e) {
                    RuntimeException failure = e.getCause() instanceof RuntimeException known
                            ? known
                            : new CompletionException(e.getCause());
                    if (first == null) {
                        first = failure;
                    } else {
                        first.addSuppressed(failure);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new CompletionException(e);
                }
            }
            if (first != null) {
                throw first;
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private void delete() {
        runtime.sessions().stream()
                .filter(name -> name.equals(session) || name.startsWith(session + "-b"))
                .forEach(runtime::delete);
    }
}
