package dev.crab.samples.programs;

import dev.crab.runtime.sandbox.ExecResult;
import dev.crab.runtime.sandbox.Sandbox;

/** A program in a sandbox: put there, asked, and started again in place of being restored. */
final class Subject {
    private static final String KILL_ALL =
            "kill -9 -1; while " + Witness.PROCESSES + " | grep -q .; do sleep 0.05; done";

    private final Program program;

    Subject(Program program) {
        this.program = program;
    }

    /** A name for a session that nobody else uses. */
    String newSession() {
        return "programs-" + program.name() + "-"
                + Long.toString(ProcessHandle.current().pid(), 36) + "-"
                + Long.toString(System.currentTimeMillis(), 36);
    }

    void install(Sandbox sandbox) {
        program.files().forEach(file -> sandbox.writeFile("/srv/" + file, Catalogue.file(file)));
        Commands.run(sandbox, program.prepare(), 1);
        Commands.run(sandbox, program.start(), 1);
    }

    /**
     * Asks it.
     *
     * @throws TrialFailure if the answer is not the one of that cycle
     */
    void ask(Sandbox sandbox, int cycle) {
        String expected = program.expected(cycle);
        String answer = Commands.run(sandbox, program.probe(), cycle).strip();
        if (!answer.equals(expected)) {
            throw new TrialFailure("the probe answers \"" + answer + "\" instead of \"" + expected + "\"");
        }
    }

    /** What it answers, right or wrong, to the probe of a cycle that it may not be in. */
    Answer answer(Sandbox sandbox, int cycle) {
        ExecResult result = Commands.exec(sandbox, String.join("\n", program.probe()), cycle);
        return new Answer(
                result.text().strip(),
                result.isSuccess() && result.out().strip().equals(program.expected(cycle)));
    }

    /**
     * Tries the probe: the program's processes are killed and it is started again on its files. What the probe answers then must be wrong.
     *
     * @return what it answers
     * @throws TrialFailure if it is content
     */
    String startAfresh(Sandbox sandbox) {
        Commands.run(sandbox, KILL_ALL, 1);
        Commands.run(sandbox, program.start(), 1);
        Answer answer = answer(sandbox, 1);
        if (answer.right()) {
            throw new TrialFailure(
                    "the probe does not tell a restart from a restore: it answers \"" + answer.text() + "\"");
        }
        return answer.text();
    }

    /**
     * An answer to a probe.
     *
     * @param text for reading
     * @param right whether it is that of the cycle that it was asked for
     */
    record Answer(String text, boolean right) {}
}
