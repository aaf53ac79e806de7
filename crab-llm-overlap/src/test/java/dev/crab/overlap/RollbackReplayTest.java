package dev.crab.overlap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What of the chat is true after somebody wanted to go back, in the same process and in one that opens the session later. */
class RollbackReplayTest {
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

    private void reopen(boolean crashed) {
        if (crashed) {
            session.close();
            open();
        }
    }

    private InvocationReplay begin(String call) {
        return turns.replay().begin(call, "memory", null, text("memory before " + call));
    }

    private static ObjectNode text(String text) {
        return SessionReplay.node().put("text", text);
    }

    private static void respond(InvocationReplay invocation, String request, String text) {
        assertThat(invocation.nextResponse(() -> request)).isEmpty();
        invocation.responded(request, text(text));
    }

    /** A response, a tool and the commit of the turn. */
    private void turn(InvocationReplay invocation, int number, ToolEffect effect) {
        respond(invocation, "r" + number, "response " + number);
        String tool = "t" + number;
        ToolAnswer answer = invocation.tool("id", tool, "{}", effect);
        assertThat(answer).isInstanceOf(ToolAnswer.Run.class);
        turns.toolStarts(tool, effect);
        if (effect == ToolEffect.EXTERNAL) {
            invocation.begun(answer.toolKey(), tool);
        }
        invocation.finished(answer.toolKey(), tool, effect, false, text("result " + number));
        turns.toolEnded();
        turns.settle(SessionReplay.node(), () -> {});
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void callWithoutAnAnswerThen_goesOnFromThatTurn_andTheModelIsAskedAnew(boolean crashed) {
        InvocationReplay call = begin("call");
        turn(call, 1, ToolEffect.SANDBOX);
        turn(call, 2, ToolEffect.SANDBOX);
        turn(call, 3, ToolEffect.EXTERNAL);
        respond(call, "r4", "answer");
        call.end();

        RolledBack back = turns.rollbackTo(1, "");
        reopen(crashed);

        assertThat(back.outside()).containsExactly(new OutsideEffect("t3", text("result 3")));
        InvocationReplay again = begin("call");
        assertThat(again.isResumed()).isTrue();
        assertThat(again.nextResponse(() -> "r1")).contains(text("response 1"));
        assertThat(again.tool("id", "t1", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Recorded.class);
        assertThat(again.nextResponse(() -> "r2")).as("what came of turn 1").isEmpty();
        again.responded("r2", text("another response 2"));
        assertThat(again.tool("id", "t2", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Run.class);
        assertThat(again.tool("id", "t3", "{}", ToolEffect.EXTERNAL))
                .as("a decision of its own, not the one that is void")
                .isInstanceOf(ToolAnswer.Run.class);
        assertThat(turns.rollbackTo(1, "").outside()).as("is told once").isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void callThatHadItsAnswer_keepsIt_andTheMemoryIsThatBeforeTheNextCall(boolean crashed) {
        InvocationReplay first = begin("first");
        turn(first, 1, ToolEffect.SANDBOX);
        respond(first, "r2", "first answer");
        first.end();
        InvocationReplay second = begin("second");
        turn(second, 2, ToolEffect.SANDBOX);
        respond(second, "r3", "second answer");
        second.end();
        begin("third");

        turns.rollbackTo(1, "");
        reopen(crashed);

        assertThat(turns.replay().putBack("memory")).contains(text("memory before second"));
        assertThat(turns.replay().putBack("another")).isEmpty();
        InvocationReplay next = begin("fourth");
        assertThat(next.isResumed()).isFalse();
        assertThat(next.leftBehind()).as("the first had its answer").isEmpty();
        assertThat(turns.replay().putBack("memory")).as("put back once").isEmpty();
    }

    @Test
    void otherCallThan_theOneWithoutAnAnswer_leavesItBehindAsItWasThen() {
        InvocationReplay call = begin("call");
        turn(call, 1, ToolEffect.SANDBOX);
        turn(call, 2, ToolEffect.SANDBOX);

        turns.rollbackTo(1, "");

        InvocationReplay other = begin("other");
        assertThat(other.isResumed()).isFalse();
        assertThat(other.leftBehind()).hasValueSatisfying(history -> {
            assertThat(history.responses()).containsExactly(text("response 1"));
            assertThat(history.results()).hasSize(1);
        });
    }

    @Test
    void callUnderWay_isRefusedToGoOn_andSoIsARollbackWhileAToolRuns() {
        InvocationReplay call = begin("call");
        turn(call, 1, ToolEffect.SANDBOX);
        assertThat(call.nextResponse(() -> "r2")).isEmpty();
        turns.toolStarts("tool", ToolEffect.SANDBOX);
        stateInvalid(() -> turns.rollbackTo(1, ""));
        turns.toolEnded();

        turns.rollbackTo(1, "");

        stateInvalid(() -> call.responded("r2", text("late")));
        stateInvalid(() -> call.nextResponse(() -> "r2"));
        stateInvalid(() -> call.tool("id", "t", "{}", ToolEffect.SANDBOX));
        stateInvalid(() -> call.begun("tool", "t"));
        stateInvalid(() -> call.finished("tool", "t", ToolEffect.SANDBOX, false, text("late")));
        stateInvalid(call::end);
        call.release();
        InvocationReplay again = begin("call");
        assertThat(again.isResumed()).isTrue();
        assertThat(session.calls).containsSubsequence(List.of("begin 1", "commit 1", "begin 2"));
        turn(again(again), 2, ToolEffect.SANDBOX);
        assertThat(session.lastCommit())
                .isNotNull()
                .satisfies(commit -> assertThat(commit.turn()).isEqualTo(2));
    }

    /** Past the first turn. */
    private static InvocationReplay again(InvocationReplay invocation) {
        assertThat(invocation.nextResponse(() -> "r1")).isPresent();
        assertThat(invocation.tool("id", "t1", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Recorded.class);
        return invocation;
    }

    private static void stateInvalid(Runnable work) {
        assertThatThrownBy(work::run)
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.STATE_INVALID));
    }

    @Test
    void beforeTheFirstTurn_everythingIsVoid() {
        turns.replay().append(RecordKinds.PREPARED, SessionReplay.node());
        InvocationReplay call = begin("call");
        turn(call, 1, ToolEffect.SANDBOX);
        assertThat(turns.replay().isPrepared()).isTrue();

        turns.rollbackTo(0, "");

        assertThat(turns.replay().isPrepared()).isFalse();
        assertThat(begin("call").isResumed()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void voidCallOfARun_leavesItsPlace_soThatWhatIsDoneInsteadIsTakenUpAfterACrash(boolean crashed) {
        ReplayScope run = ReplayScope.run("1");
        InvocationReplay first = turns.replay().begin("first", "memory", run, text(""));
        turn(first, 1, ToolEffect.SANDBOX);
        first.end();
        InvocationReplay second = turns.replay().begin("second", "memory", run, text(""));
        turn(second, 2, ToolEffect.SANDBOX);
        second.end();

        turns.rollbackTo(1, "");
        InvocationReplay instead = turns.replay().begin("second", "memory", run, text(""));
        assertThat(instead.isResumed()).isFalse();
        turn(instead, 2, ToolEffect.SANDBOX);
        instead.end();

        reopen(crashed);
        ReplayScope again = crashed ? ReplayScope.run("1") : run;
        InvocationReplay next = turns.replay().begin("second", "memory", again, text(""));
        assertThat(next.isResumed())
                .as("after a crash the run is gone through anew")
                .isEqualTo(crashed);
    }

    /** Else it would count in a program that is started later, and not in this one. */
    @Test
    void responseThatComesWhileTheSessionGoesBack_isInNoJournal() throws InterruptedException {
        InvocationReplay call = begin("call");
        turn(call, 1, ToolEffect.SANDBOX);
        assertThat(call.nextResponse(() -> "r2")).isEmpty();
        AtomicReference<Throwable> refused = new AtomicReference<>();
        Thread late = new Thread(() -> refused.set(catchThrowable(() -> call.responded("r2", text("late")))));
        session.duringRollback = () -> {
            late.start();
            await().until(() -> late.getState() == Thread.State.BLOCKED || !late.isAlive());
        };

        turns.rollbackTo(1, "");
        late.join();
        reopen(true);

        assertThat(refused.get())
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.STATE_INVALID));
        assertThat(again(begin("call")).nextResponse(() -> "r2")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void callWithoutToolsBehindARollback_keepsItsAnswerInTheNext(boolean crashed) {
        turn(begin("first"), 1, ToolEffect.SANDBOX);
        turn(begin("second"), 2, ToolEffect.SANDBOX);
        turns.rollbackTo(1, "");
        InvocationReplay third = begin("third");
        respond(third, "r1", "answer");
        third.end();
        reopen(crashed);

        turns.rollbackTo(1, "");
        reopen(crashed);

        assertThat(turns.replay().putBack("memory")).isEmpty();
    }

    @Test
    void callWithoutToolsBehindACrash_keepsItsAnswerInTheRollback() {
        turn(begin("first"), 1, ToolEffect.SANDBOX);
        InvocationReplay second = begin("second");
        respond(second, "r1", "response");
        ToolAnswer answer = second.tool("id", "t1", "{}", ToolEffect.SANDBOX);
        second.finished(answer.toolKey(), "t1", ToolEffect.SANDBOX, false, text("not committed"));
        reopen(true);
        InvocationReplay third = begin("third");
        respond(third, "r1", "answer");
        third.end();

        turns.rollbackTo(1, "");

        assertThat(turns.replay().putBack("memory")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatWasPrepared_isUndoneWithItsTurn(boolean crashed) {
        InvocationReplay call = begin("call");
        turn(call, 1, ToolEffect.SANDBOX);
        turns.prepare(sandbox -> {});
        turn(call, 2, ToolEffect.SANDBOX);

        turns.rollbackTo(2, "");
        reopen(crashed);
        assertThat(turns.replay().isPrepared()).as("at its turn").isTrue();

        turns.rollbackTo(1, "");
        reopen(crashed);
        assertThat(turns.replay().isPrepared()).as("before its turn").isFalse();
    }

    @Test
    void whatWasPrepared_isUndoneWithADamagedCheckpoint() {
        turn(begin("call"), 1, ToolEffect.SANDBOX);
        turns.prepare(sandbox -> {});
        turns.close();
        session.close();

        session = new JournalSession(directory, 1);
        turns = TurnCoordinator.builder(session).build();

        assertThat(turns.replay().isPrepared()).isFalse();
    }

    private InvocationReplay begin(String call, ReplayScope scope) {
        return turns.replay().begin(call, "memory", scope, text("memory before " + call));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void callsOfADurableRun_theMemoryIsThatBeforeTheFirstVoidOne(boolean crashed) {
        ReplayScope run = ReplayScope.run("1");
        InvocationReplay first = begin("first", run);
        turn(first, 1, ToolEffect.SANDBOX);
        respond(first, "r2", "first answer");
        first.end();
        InvocationReplay second = begin("second", run);
        turn(second, 2, ToolEffect.SANDBOX);
        respond(second, "r3", "second answer");
        second.end();

        turns.rollbackTo(1, "");
        reopen(crashed);

        assertThat(turns.replay().putBack("memory")).contains(text("memory before second"));
        assertThat(begin("third", run).leftBehind()).isEmpty();
        assertThat(turns.replay().putBack("memory")).as("put back once").isEmpty();
    }

    /** What came of it after the turn is in the memory before the next call, so that is nothing to put back. */
    @ParameterizedTest
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void callThatBeganBeforeTheTurnAndEndedAfterIt_isLeftBehindAsItWasThen(boolean scoped, boolean crashed) {
        ReplayScope run = scoped ? ReplayScope.run("1") : null;
        InvocationReplay first = turns.replay().begin("first", "memory", run, text("memory before first"));
        turn(first, 1, ToolEffect.SANDBOX);
        turn(first, 2, ToolEffect.SANDBOX);
        respond(first, "r3", "first answer");
        first.end();
        InvocationReplay second = turns.replay().begin("second", "memory", run, text("memory before second"));
        turn(second, 3, ToolEffect.SANDBOX);
        respond(second, "r3", "second answer");
        second.end();

        turns.rollbackTo(1, "");
        reopen(crashed);

        assertThat(turns.replay().putBack("memory")).isEmpty();
        InvocationReplay third = turns.replay().begin("third", "memory", run, text("memory before third"));
        assertThat(third.leftBehind())
                .hasValueSatisfying(history -> assertThat(history.responses()).containsExactly(text("response 1")));
    }
}
