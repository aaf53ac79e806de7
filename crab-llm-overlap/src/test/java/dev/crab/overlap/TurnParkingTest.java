package dev.crab.overlap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A session is parked while something waits. */
class TurnParkingTest {
    private static final long LONG = 60_000_000_000L;

    @TempDir
    Path directory;

    private JournalSession session;
    private TurnCoordinator turns;

    @BeforeEach
    void open() {
        session = new JournalSession(directory);
        turns = TurnCoordinator.builder(session).build();
    }

    @AfterEach
    void close() {
        turns.close();
        session.close();
    }

    private static ObjectNode position() {
        return SessionReplay.node();
    }

    private void tool(String name) {
        turns.toolStarts(name, ToolEffect.SANDBOX);
        turns.toolEnded();
    }

    private LongWait waits(String tool) {
        turns.toolStarts(tool, ToolEffect.SANDBOX);
        return turns.longWait(tool, ToolEffect.SANDBOX, position(), () -> true);
    }

    private void settled() {
        turns.settle(position(), () -> {});
    }

    @Test
    void waitingTool_commitsWhatWasDoneAndGoesOnInATurnOfItsOwn() {
        tool("one");
        LongWait wait = waits("ask");

        wait.park();
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1", "park");
        wait.park();
        wait.end();
        assertThat(turns.state()).isEqualTo(TurnState.RUNNING);
        turns.toolEnded();
        settled();

        assertThat(session.calls).containsExactly("begin 1", "commit 1", "park", "begin 2", "commit 2");
    }

    @Test
    void waitingTool_shortWait_changesNothing() {
        LongWait wait = waits("ask");
        wait.end();
        wait.park();
        assertThat(turns.state()).isEqualTo(TurnState.RUNNING);
        turns.toolEnded();
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
    }

    @Test
    void waitingTool_anotherToolRuns_parksWhenThatHasEnded() {
        turns.toolStarts("other", ToolEffect.SANDBOX);
        LongWait wait = waits("ask");

        wait.park();
        assertThat(turns.state()).isEqualTo(TurnState.DUE);
        assertThat(session.calls).containsExactly("begin 1");
        turns.toolEnded();
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1", "park");
        wait.end();
        turns.toolEnded();
    }

    @Test
    void waitingTool_overBeforeTheOtherToolEnds_isNotParked() {
        turns.toolStarts("other", ToolEffect.SANDBOX);
        LongWait wait = waits("ask");
        wait.park();
        wait.end();
        turns.toolEnded();
        assertThat(turns.state()).isEqualTo(TurnState.DUE);
        turns.toolEnded();
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
    }

    @Test
    void twoWaits_theFirstIsOver_isParkedAgainForTheOther() {
        LongWait first = waits("ask one");
        LongWait second = waits("ask two");
        first.park();
        second.park();
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1", "park");

        first.end();
        turns.toolEnded();
        settled();

        assertThat(session.calls).containsExactly("begin 1", "commit 1", "park", "begin 2", "commit 2", "park");
        assertThat(session.isParked()).isTrue();
        second.end();
        turns.toolEnded();
        settled();
        assertThat(session.calls).endsWith("begin 3", "commit 3");
        assertThat(session.isParked()).isFalse();
    }

    /** Tools of another call, which goes on at once: parked between each two of them, it would be brought back for each. */
    @Test
    void otherToolsWhileOneWaits_doNotParkItEachTime() {
        LongWait wait = waits("ask");
        wait.park();
        settled();
        tool("other");
        tool("another");
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1", "park", "begin 2", "commit 2");
        wait.end();
        turns.toolEnded();
    }

    @Test
    void leave_allThatIsLeftWaits_isCommitted() {
        LongWait wait = waits("ask");
        wait.park();
        settled();
        turns.toolStarts("other", ToolEffect.SANDBOX);
        CompletableFuture<Boolean> left = CompletableFuture.supplyAsync(() -> turns.leave(LONG));
        turns.toolEnded();

        assertThat(left.join()).as("nobody else is there to reach a boundary").isTrue();
        assertThat(session.calls).startsWith("begin 1", "commit 1", "park", "begin 2", "commit 2");
    }

    @Test
    void question_noToolRuns_isParkedUntilTheNextTool() {
        tool("one");
        LongWait wait = turns.longWait(null, ToolEffect.EXTERNAL, position(), () -> true);
        wait.park();
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1", "park");
        wait.end();
        assertThat(session.isParked()).isTrue();
        tool("two");
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1", "park", "begin 2", "commit 2");
    }

    @Test
    void park_workOfATurnThatWasGivenUp_isCommittedFirst() {
        tool("one");
        turns.giveUp();
        assertThat(turns.park(position())).isTrue();
        assertThat(session.calls).containsExactly("begin 1", "abandon 1", "begin 1", "commit 1", "park");
        assertThat(turns.park(position())).isTrue();
        assertThat(session.calls).hasSize(5);
        assertThat(turns.reports().get(0).claimBroken()).isFalse();
    }

    @Test
    void park_commitFails_isNotParkedAndTheNextToolIsRefused() {
        session.nextCommitFails.set(CrabException.of(ErrorCode.COMMIT_FAILED, "no", "test", "none"));
        LongWait wait = waits("ask");
        wait.park();
        assertThatThrownBy(wait::end)
                .isInstanceOfSatisfying(
                        CrabException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ErrorCode.COMMIT_FAILED));
        assertThat(session.calls).containsExactly("begin 1");
        turns.giveUp();
        assertThat(turns.state()).isEqualTo(TurnState.QUIET);
    }

    @Test
    void leave_toolWaits_isCommittedWithoutIt() {
        tool("one");
        LongWait wait = waits("ask");
        assertThat(turns.leave(LONG)).isTrue();
        assertThat(session.calls).startsWith("begin 1", "commit 1");
        turns.close();
        assertThatThrownBy(wait::end).isInstanceOf(CrabException.class);
    }

    /** It has used the sandbox: half of it would be saved, and then run again. */
    @Test
    void waitingTool_notParkable_isNeverCommittedInItsMiddle() {
        turns.toolStarts("ask", ToolEffect.SANDBOX);
        LongWait wait = turns.longWait("ask", ToolEffect.SANDBOX, position(), () -> false);
        wait.park();
        assertThat(turns.leave(0)).isFalse();
        assertThat(session.calls).containsExactly("begin 1");
        wait.end();
        turns.toolEnded();
        settled();
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
    }
}
