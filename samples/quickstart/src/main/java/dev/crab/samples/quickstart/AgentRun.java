package dev.crab.samples.quickstart;

import dev.crab.overlap.TurnReport;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One run of the agent from its task to its answer, over as many JVMs as it took.
 *
 * @param session the Crab session
 * @param lives its JVMs, in order
 * @param turns the committed turns by number
 * @param state what agent and sandbox were like at the end; null if the run did not get there
 * @param operations what was really run in the sandbox
 * @param points the fault points that the first JVM passed, {@code name@n}, if it was asked to tell them
 * @param requests requests that the scripted model got
 * @param refusals why it refused some
 * @param log the JVMs' other output
 */
record AgentRun(
        String session,
        List<Life> lives,
        TreeMap<Long, TurnReport> turns,
        @Nullable AgentState state,
        List<Operation> operations,
        List<String> points,
        int requests,
        List<String> refusals,
        Path log) {
    /**
     * One JVM of a run.
     *
     * @param recoveredTurn the turn that its sandbox was restored to; 0 if it started a fresh one; -1 if it never said
     * @param processesRestored processes that came back from a dump
     * @param restoreMillis how long the restore took
     * @param failure why it failed, if it said so
     */
    record Life(
            long recoveredTurn,
            int processesRestored,
            long restoreMillis,
            AgentProcess.Ending ending,
            @Nullable String failure) {}

    /**
     * Something that was run in the sandbox.
     *
     * @param life the JVM, from 1
     * @param turn the turn it belongs to
     */
    record Operation(int life, int turn, String what) {}

    /** The run's end, where the caller knows that it got there. */
    AgentState end() {
        if (state == null) {
            throw new IllegalStateException("the run has no end");
        }
        return state;
    }

    boolean finished() {
        return state != null;
    }

    /** The last JVM. */
    Life lastLife() {
        return lives.get(lives.size() - 1);
    }

    /** Operations of a turn, over all JVMs, as texts. */
    List<String> operationsOf(long turn) {
        return operations.stream()
                .filter(operation -> operation.turn() == turn)
                .map(Operation::what)
                .toList();
    }

    /**
     * Operations that a JVM ran although their turn was committed before that JVM was started. None, if Crab keeps its promise.
     */
    List<Operation> repeated() {
        return operations.stream()
                .filter(operation ->
                        operation.turn() <= lives.get(operation.life() - 1).recoveredTurn())
                .toList();
    }
}
