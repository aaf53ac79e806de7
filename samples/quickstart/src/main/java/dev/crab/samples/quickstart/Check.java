package dev.crab.samples.quickstart;

import dev.crab.samples.common.ChatRules;
import java.util.ArrayList;
import java.util.List;

/**
 * One statement about a run that was killed, and whether it holds.
 *
 * @param name what is claimed
 * @param held whether it is so
 * @param detail the evidence, or what was found instead
 */
record Check(String name, boolean held, String detail) {
    /**
     * What must be true of a killed run that went on by the script.
     *
     * @param reference the same task, not killed
     * @param run the killed run
     */
    static List<Check> scripted(AgentRun reference, AgentRun run) {
        List<Check> checks = general(run);
        if (run.finished()) {
            checks.addAll(asUndisturbed(reference, run));
        }
        return checks;
    }

    private static List<Check> asUndisturbed(AgentRun reference, AgentRun run) {
        List<Check> checks = new ArrayList<>();
        AgentState expected = reference.end();
        AgentState found = run.end();
        Fingerprint should = Fingerprint.of(expected);
        Fingerprint is = Fingerprint.of(found);
        int service = found.counter().path("pid").asInt();
        checks.add(new Check(
                "the service is the same process",
                Fingerprint.sameService(found),
                "pid " + service + " and the token in its memory"));
        checks.add(new Check(
                "what it counted, only in memory",
                found.counter().path("total").asInt(-1)
                        == expected.counter().path("total").asInt(-2),
                "total " + found.counter().path("total") + ", without the crash "
                        + expected.counter().path("total")));
        checks.add(
                same("process table", "processes", should, is, found.processes().size() + " processes"));
        checks.add(same("project files", "files", should, is, found.files().size() + " files, digests equal"));
        checks.add(draft(reference, run));
        checks.add(same("shell: working directory", "working directory", should, is, found.workingDirectory()));
        checks.add(same("shell: exported variable", "variable", should, is, Script.VARIABLE + "=" + found.variable()));
        checks.add(
                same("announced outside, once", "announcements", should, is, String.join(", ", found.announcements())));
        checks.add(same("chat memory", "chat", should, is, found.chat().size() + " messages, as without the crash"));
        if (point(run.lives().get(0)).matches("(tool|command)\\..*")) { // elsewhere a request may have been under way
            checks.add(new Check(
                    "no response was paid for twice",
                    run.requests() == Script.responses().size(),
                    run.requests() + " requests for " + Script.responses().size() + " responses"));
        }
        checks.add(same("final answer", "answer", should, is, "equal"));
        return checks;
    }

    /** What must be true of any run that was killed, whatever model answered. */
    static List<Check> general(AgentRun run) {
        List<Check> checks = new ArrayList<>();
        AgentRun.Life first = run.lives().get(0);
        boolean killed = first.ending() instanceof AgentProcess.Ending.Killed;
        checks.add(
                new Check("the JVM was killed", killed, killed ? "SIGKILL at " + point(first) : "it ended by itself"));
        checks.addAll(recovered(run, killed));
        return checks;
    }

    /**
     * What must be true of a run whose disk became full and that was started again.
     *
     * @param reference the same task, on a disk with room
     * @param run the run that ended for want of room
     */
    static List<Check> diskFull(AgentRun reference, AgentRun run) {
        List<Check> checks = new ArrayList<>();
        AgentRun.Life first = run.lives().get(0);
        String failure = String.valueOf(first.failure());
        boolean full = first.ending() instanceof AgentProcess.Ending.Failed && failure.contains("DISK_FULL");
        checks.add(new Check(
                "the program ended with DISK_FULL",
                full,
                full ? "as the policy FAIL says" : "it " + first.ending() + ", " + failure));
        checks.addAll(recovered(run, true));
        if (run.finished()) {
            checks.addAll(asUndisturbed(reference, run));
        }
        return checks;
    }

    private static List<Check> recovered(AgentRun run, boolean interrupted) {
        List<Check> checks = new ArrayList<>();
        if (interrupted) {
            long recovered = run.lastLife().recoveredTurn();
            checks.add(new Check(
                    "its session went on",
                    run.finished() && recovered >= 0,
                    run.finished()
                            ? "restored to turn " + recovered + ", "
                                    + run.lastLife().processesRestored() + " processes, "
                                    + run.lastLife().restoreMillis() + " ms"
                            : failure(run)));
        }
        if (run.finished()) {
            List<String> faults = new ArrayList<>(ChatRules.faults(run.end().chat()));
            faults.addAll(run.refusals());
            checks.add(new Check(
                    "chat: no dangling call, nothing doubled",
                    faults.isEmpty(),
                    faults.isEmpty() ? "every call has one result" : String.join("; ", faults)));
            List<AgentRun.Operation> repeated = run.repeated();
            long last = run.lastLife().recoveredTurn();
            checks.add(new Check(
                    "no committed tool ran again",
                    repeated.isEmpty(),
                    repeated.isEmpty()
                            ? run.operations().stream()
                                            .filter(operation -> operation.turn() <= last)
                                            .count() + " operations of turns 1 to " + last + " ran once"
                            : repeated.get(0).what() + " ran again"));
        }
        return checks;
    }

    /** Why a run did not get to its end. */
    static String failure(AgentRun run) {
        AgentRun.Life last = run.lastLife();
        String said = last.failure() == null ? "no reason given, see " + run.log() : last.failure();
        return run.finished() ? "it finished" : "JVM " + run.lives().size() + " failed: " + said;
    }

    private static Check draft(AgentRun reference, AgentRun run) {
        // The step that makes the draft counts the drafts that are there: had the killed turn's file stayed, there
        // would be two.
        List<String> drafts = run.end().files().keySet().stream()
                .filter(path -> path.startsWith("./draft-"))
                .toList();
        long made = run.operations().stream()
                .filter(operation -> operation.what().contains("touch draft-"))
                .count();
        long expected = reference.end().files().keySet().stream()
                .filter(path -> path.startsWith("./draft-"))
                .count();
        return new Check(
                "the killed turn's file is gone",
                drafts.size() == expected,
                "made " + made + " times, there: " + String.join(", ", drafts));
    }

    private static Check same(String name, String part, Fingerprint should, Fingerprint is, String detail) {
        String expected = should.parts().get(part);
        boolean held = expected != null && expected.equals(is.parts().get(part));
        return new Check(
                name,
                held,
                held
                        ? detail
                        : should.differences(is).stream()
                                .filter(difference -> difference.startsWith(part + ":"))
                                .findFirst()
                                .orElse("missing"));
    }

    private static String point(AgentRun.Life life) {
        return life.ending() instanceof AgentProcess.Ending.Killed at ? at.point() : "?";
    }
}
