package dev.crab.langchain4j;

import dev.crab.overlap.InvocationReplay;
import dev.crab.runtime.session.TurnInfo;
import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import java.util.List;

/**
 * A tool by which the model goes back by itself when it took a wrong turn: sandbox and conversation are then as they were, but for a note of what it
 * tried and why that failed. Give it to an AI service beside its other tools; a model without it cannot go back. Thread-safe.
 *
 * <p>It goes back within the call that is under way. To keep it from going in circles it is refused when it has gone back to the same point, or in
 * all, as often as is allowed; the model is then told to go on from where it is.
 */
public final class RollbackTools {
    private final int toOnePoint;
    private final int inAll;

    /** Three times to one point, ten times in one call. */
    public RollbackTools() {
        this(3, 10);
    }

    /**
     * With other bounds.
     *
     * @param toOnePoint how often one call may go back to the same point, from 1
     * @param inAll how often it may go back, from 1
     */
    public RollbackTools(int toOnePoint, int inAll) {
        if (toOnePoint < 1 || inAll < 1) {
            throw new IllegalArgumentException("at least once: " + toOnePoint + ", " + inAll);
        }
        this.toOnePoint = toOnePoint;
        this.inAll = inAll;
    }

    /** Asks for it; it is done when the response's tools have ended. What it answers the model sees only if it is refused. */
    @Tool(
            "Undo your last turns when you took a wrong way: files, processes and this conversation go back to how they were. Call it alone, not beside "
                    + "other tools. Effects outside the sandbox are not undone.")
    public String rollback(
            @P(
                            name = "turns",
                            value =
                                    "how many of your last responses with tool calls to undo, not counting this one; at least 1")
                    int turns,
            @P(
                            name = "why",
                            value =
                                    "what you tried and why it failed, in a sentence or two: all that you will remember of it")
                    String why) {
        RunningTool tool = RunningTool.current();
        ProtectedInvocation invocation = tool == null ? null : tool.invocation();
        if (invocation == null) {
            return "Not possible: this call is not protected by a session.";
        }
        InvocationReplay replay = invocation.replay();
        int before = replay.index() - 1;
        if (turns < 1 || turns > before) {
            return before == 0
                    ? "Not possible: you have done nothing yet in this call."
                    : "Not possible: give a number from 1 to " + before + ".";
        }
        InvocationReplay.WayBack way = replay.wayBack(before - turns + 1);
        if (way.isShared() || invocation.entry().isSharedBeside(invocation)) {
            return "Not possible: other work is going on in the same sandbox.";
        }
        if (replay.timesBack() >= inAll || replay.notes(way.call()).size() >= toOnePoint) {
            return "Not possible: you have gone back often enough, and it did not help. Go on from here, or say that you cannot do it.";
        }
        List<TurnInfo> committed = invocation.entry().open().session().turns();
        if (way.turn() > 0 && !committed.get((int) way.turn() - 1).kept()) {
            return "Not possible: so early a state is not kept any more. Undo fewer turns.";
        }
        invocation.back().wish(way.turn(), why);
        return "Going back.";
    }
}
