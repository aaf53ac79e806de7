package dev.crab.overlap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SessionReplayTest {
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

    private void crashAndReopen() {
        session.close();
        open();
    }

    private InvocationReplay begin(String call) {
        return turns.replay().begin(call, "memory", null, SessionReplay.node());
    }

    private static ObjectNode text(String text) {
        return SessionReplay.node().put("text", text);
    }

    private static void respond(InvocationReplay invocation, String request, String text) {
        assertThat(invocation.nextResponse(() -> request)).isEmpty();
        invocation.responded(request, text(text));
    }

    private String run(InvocationReplay invocation, String tool, ToolEffect effect, String result) {
        ToolAnswer answer = invocation.tool("id", tool, "{}", effect);
        assertThat(answer).isInstanceOf(ToolAnswer.Run.class);
        turns.toolStarts(tool, effect);
        if (effect == ToolEffect.EXTERNAL) {
            invocation.begun(answer.toolKey(), tool);
        }
        invocation.finished(answer.toolKey(), tool, effect, false, text(result));
        turns.toolEnded();
        return answer.toolKey();
    }

    @Test
    void resultsOfExternalEffects_areDurableAtOnce_andOthersWithTheCommit() {
        InvocationReplay invocation = begin("call");
        respond(invocation, "r1", "one");
        assertThat(session.unflushed()).isZero();
        run(invocation, "inside", ToolEffect.SANDBOX, "done");
        assertThat(session.unflushed()).isPositive();
        run(invocation, "outside", ToolEffect.EXTERNAL, "done");
        assertThat(session.unflushed()).isZero();
        run(invocation, "looks", ToolEffect.READ_ONLY, "seen");
        long result = session.unflushed();
        assertThat(result).isPositive();
        session.duringCommit = () -> assertThat(session.unflushed()).isEqualTo(result);
        turns.settle(SessionReplay.node(), () -> assertThat(session.unflushed()).isNotEqualTo(result));
        invocation.end();
        turns.close();
        session.journal().append("end", SessionReplay.node());
        assertThat(session.unflushed()).isZero();
    }

    @Test
    void rejectedResponse_isNotServedAgain_inTheNextProgramEither() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        turns.settle(SessionReplay.node(), () -> {});
        respond(first, "r2", "two");
        assertThat(first.reject(false)).isEqualTo(InvocationReplay.Rejection.RESPONSE);
        assertThat(first.reject(false)).as("once").isEqualTo(InvocationReplay.Rejection.NONE);

        crashAndReopen();

        InvocationReplay again = begin("call");
        assertThat(again.nextResponse(() -> "r1")).contains(text("one"));
        again.tool("id", "t1", "{}", ToolEffect.SANDBOX);
        assertThat(again.nextResponse(() -> "r2")).isEmpty();
    }

    @Test
    void responseWhoseToolsCannotBeUndone_isNotRejected() {
        InvocationReplay one = begin("call");
        respond(one, "r1", "one");
        run(one, "t1", ToolEffect.SANDBOX, "done 1");
        run(one, "t2", ToolEffect.SANDBOX, "done 2");
        assertThat(one.reject(false)).isEqualTo(InvocationReplay.Rejection.RESPONSE_WITH_RESULTS);

        InvocationReplay committed = begin("committed");
        respond(committed, "r1", "one");
        run(committed, "t1", ToolEffect.SANDBOX, "done 1");
        turns.settle(SessionReplay.node(), () -> {});
        assertThat(committed.reject(false)).isEqualTo(InvocationReplay.Rejection.KEPT);

        InvocationReplay outside = begin("outside");
        respond(outside, "r1", "one");
        run(outside, "t1", ToolEffect.EXTERNAL, "sent");
        assertThat(outside.reject(true)).isEqualTo(InvocationReplay.Rejection.KEPT);

        InvocationReplay unknown = begin("unknown");
        respond(unknown, "r1", "one");
        unknown.begun(unknown.tool("id", "t1", "{}", ToolEffect.EXTERNAL).toolKey(), "t1");
        assertThat(unknown.reject(false)).isEqualTo(InvocationReplay.Rejection.KEPT);
        assertThat(unknown.reject(true))
                .as("it is known not to have run")
                .isEqualTo(InvocationReplay.Rejection.RESPONSE);
    }

    @Test
    void idempotencyKey_isTheSameAfterACrash_andAnotherInEverySession(@TempDir Path other) throws Exception {
        String key = turns.replay().idempotencyKey("tool");
        assertThat(turns.replay().idempotencyKey("tool")).isEqualTo(key);
        assertThat(turns.replay().idempotencyKey("another")).isNotEqualTo(key);
        crashAndReopen();
        assertThat(turns.replay().idempotencyKey("tool")).isEqualTo(key);

        JournalSession second = new JournalSession(other);
        try (TurnCoordinator ofSecond = TurnCoordinator.builder(second).build()) {
            assertThat(ofSecond.replay().idempotencyKey("tool")).isNotEqualTo(key);
        } finally {
            second.close();
        }
    }

    @Test
    void idempotencyKey_ofABranch_isAnother_andOfOneThatIsMadeAgainToo() throws Exception {
        String key = turns.replay().idempotencyKey("tool");
        List<String> branches = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            try (JournalSession branch = JournalSession.branch(directory, directory.resolve("branch-" + i), "branch");
                    TurnCoordinator ofBranch = TurnCoordinator.builder(branch).build()) {
                branches.add(ofBranch.replay().idempotencyKey("tool"));
            }
        }
        assertThat(branches).doesNotHaveDuplicates().doesNotContain(key);
    }

    @Test
    void responsesUpToTheOneAfterTheLastCommit_areServed_andOnlyCommittedResults() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        turns.settle(SessionReplay.node(), () -> {});
        respond(first, "r2", "two");
        run(first, "t2", ToolEffect.SANDBOX, "done 2");

        crashAndReopen();

        InvocationReplay again = begin("call");
        assertThat(again.isResumed()).isTrue();
        assertThat(again.key()).isEqualTo(first.key());
        assertThat(again.nextResponse(() -> "drifted")).contains(text("one"));
        assertThat(again.tool("id", "t1", "{}", ToolEffect.SANDBOX))
                .isInstanceOfSatisfying(
                        ToolAnswer.Recorded.class,
                        recorded -> assertThat(recorded.result()).isEqualTo(text("done 1")));
        assertThat(again.nextResponse(() -> "drifted")).contains(text("two"));
        assertThat(again.tool("id", "t2", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Run.class);
        assertThat(again.nextResponse(() -> "r3")).isEmpty();
    }

    @Test
    void sessionThatFellBackToAnOlderTurn_takesUpWhatHadEndedOnTheStrengthOfLaterOnes() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        turns.settle(SessionReplay.node(), () -> {});
        respond(first, "r2", "two");
        run(first, "t2", ToolEffect.SANDBOX, "done 2");
        turns.settle(SessionReplay.node(), () -> {});
        respond(first, "r3", "answer");
        first.end();
        assertThat(session.lastCommit())
                .isNotNull()
                .satisfies(commit -> assertThat(commit.turn()).isEqualTo(2));

        session.close();
        session = new JournalSession(directory, 1);
        turns = TurnCoordinator.builder(session).build();

        InvocationReplay again = begin("call");
        assertThat(again.isResumed()).isTrue();
        assertThat(again.key()).isEqualTo(first.key());
        assertThat(again.nextResponse(() -> "r1")).isPresent();
        assertThat(again.tool("id", "t1", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Recorded.class);
        assertThat(again.nextResponse(() -> "r2")).isPresent();
        assertThat(again.tool("id", "t2", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Run.class);
    }

    @Test
    void ordinaryReopening_leavesWhatHadEndedAlone() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        turns.settle(SessionReplay.node(), () -> {});
        respond(first, "r2", "answer");
        first.end();

        crashAndReopen();

        assertThat(begin("call").isResumed()).isFalse();
    }

    @Test
    void responseToResultsThatRanAgain_isServedOnlyForTheSameRequest() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        respond(first, "r2", "two");

        crashAndReopen();
        InvocationReplay same = begin("call");
        assertThat(same.nextResponse(() -> "r1")).isPresent();
        run(same, "t1", ToolEffect.SANDBOX, "done 1");
        assertThat(same.nextResponse(() -> "r2")).contains(text("two"));

        crashAndReopen();
        InvocationReplay other = begin("call");
        assertThat(other.nextResponse(() -> "r1")).isPresent();
        run(other, "t1", ToolEffect.SANDBOX, "something else");
        assertThat(other.nextResponse(() -> "r2 with something else")).isEmpty();
    }

    @Test
    void responseGivenAnew_sharesNoResultsWithTheOneItReplaces() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        respond(first, "r2", "two");
        run(first, "t2", ToolEffect.SANDBOX, "done 2");

        crashAndReopen();
        InvocationReplay again = begin("call");
        assertThat(again.nextResponse(() -> "r1")).isPresent();
        run(again, "t1", ToolEffect.SANDBOX, "something else");
        respond(again, "r2 with something else", "two, but new");
        assertThat(again.tool("id", "t2", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Run.class);
        run(again, "t1", ToolEffect.SANDBOX, "again");
        turns.settle(SessionReplay.node(), () -> {});

        crashAndReopen();
        InvocationReplay third = begin("call");
        assertThat(third.nextResponse(() -> "r1")).contains(text("one"));
        assertThat(third.tool("id", "t1", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Recorded.class);
        assertThat(third.nextResponse(() -> "drifted"))
                .as("answers the new result")
                .contains(text("two, but new"));
    }

    @Test
    void resultsThatACrashUndid_stayUndone_evenAfterLaterCommits() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        run(first, "t2", ToolEffect.SANDBOX, "done 2");

        crashAndReopen();
        InvocationReplay again = begin("call");
        assertThat(again.nextResponse(() -> "r1")).isPresent();
        run(again, "t1", ToolEffect.SANDBOX, "done 1 again");
        turns.settle(SessionReplay.node(), () -> {});

        crashAndReopen();
        InvocationReplay third = begin("call");
        assertThat(third.nextResponse(() -> "r1")).isPresent();
        assertThat(third.tool("id", "t1", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Recorded.class);
        assertThat(third.tool("id", "t2", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Run.class);
    }

    @Test
    void equalCallsInOneResponse_areToldApart() {
        InvocationReplay invocation = begin("call");
        respond(invocation, "r1", "one");
        String key = run(invocation, "t", ToolEffect.SANDBOX, "first");
        assertThat(invocation.tool("id", "t", "{}", ToolEffect.SANDBOX))
                .isInstanceOf(ToolAnswer.Run.class)
                .extracting(ToolAnswer::toolKey)
                .isNotEqualTo(key);
    }

    @Test
    void externalResult_isServedWhateverBecameOfItsTurn() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "mail", ToolEffect.EXTERNAL, "sent");
        crashAndReopen();
        InvocationReplay again = begin("call");
        assertThat(again.nextResponse(() -> "r1")).isPresent();
        assertThat(again.tool("id", "mail", "{}", ToolEffect.EXTERNAL)).isInstanceOf(ToolAnswer.Recorded.class);
    }

    @Test
    void externalEffect_begunWithoutResult_isUnknown() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        ToolAnswer answer = first.tool("id", "mail", "{}", ToolEffect.EXTERNAL);
        first.begun(answer.toolKey(), "mail");
        crashAndReopen();
        InvocationReplay again = begin("call");
        assertThat(again.nextResponse(() -> "r1")).isPresent();
        assertThat(again.tool("id", "mail", "{}", ToolEffect.EXTERNAL))
                .isEqualTo(new ToolAnswer.Unknown(answer.toolKey()));
    }

    @Test
    void externalEffect_thatAlsoUsedTheSandbox_isUnknownOnceThatIsUndone() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        ToolAnswer answer = first.tool("id", "push", "{}", ToolEffect.EXTERNAL);
        first.begun(answer.toolKey(), "push");
        first.finished(answer.toolKey(), "push", ToolEffect.EXTERNAL, true, text("pushed"));
        crashAndReopen();
        InvocationReplay again = begin("call");
        assertThat(again.nextResponse(() -> "r1")).isPresent();
        assertThat(again.tool("id", "push", "{}", ToolEffect.EXTERNAL)).isInstanceOf(ToolAnswer.Unknown.class);
    }

    @Test
    void failedInvocation_madeAgainInTheSameProcess_keepsItsResults() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        first.release();
        InvocationReplay again = begin("call");
        assertThat(again.isResumed()).isTrue();
        assertThat(again.nextResponse(() -> "r1")).isPresent();
        assertThat(again.tool("id", "t1", "{}", ToolEffect.SANDBOX)).isInstanceOf(ToolAnswer.Recorded.class);
    }

    @Test
    void endedInvocation_isNotReplayed_outsideAScope() {
        InvocationReplay first = begin("call");
        first.end();
        InvocationReplay second = begin("call");
        assertThat(second.isResumed()).isFalse();
        assertThat(second.key()).isNotEqualTo(first.key());
    }

    @Test
    void endedInvocation_isReplayedInsideItsRun_untilThatIsComplete() {
        ReplayScope run = ReplayScope.run(turns.replay().currentRun());
        InvocationReplay first = turns.replay().begin("call", "memory", run, SessionReplay.node());
        InvocationReplay second = turns.replay().begin("call", "memory", run, SessionReplay.node());
        assertThat(second.key()).isNotEqualTo(first.key());
        first.end();
        second.end();

        crashAndReopen();
        ReplayScope same = ReplayScope.run(turns.replay().currentRun());
        InvocationReplay again = turns.replay().begin("call", "memory", same, SessionReplay.node());
        assertThat(again.isResumed()).isTrue();
        assertThat(again.key()).isEqualTo(first.key());
        turns.replay().completeRun(turns.replay().currentRun());

        ReplayScope next = ReplayScope.run(turns.replay().currentRun());
        assertThat(turns.replay()
                        .begin("call", "memory", next, SessionReplay.node())
                        .isResumed())
                .isFalse();
    }

    @Test
    void failedInvocation_madeAgainInTheSameRun_isTakenUp_andTheNextEqualOneIsAnother() {
        ReplayScope run = ReplayScope.run(turns.replay().currentRun());
        InvocationReplay first = turns.replay().begin("call", "memory", run, SessionReplay.node());
        InvocationReplay beside = turns.replay().begin("call", "memory", run, SessionReplay.node());
        respond(first, "r1", "one");
        first.release();

        InvocationReplay again = turns.replay().begin("call", "memory", run, SessionReplay.node());
        assertThat(again.key()).isEqualTo(first.key());
        assertThat(again.nextResponse(() -> "r1")).contains(text("one"));
        again.end();
        beside.end();
        InvocationReplay third = turns.replay().begin("call", "memory", run, SessionReplay.node());
        assertThat(third.isResumed()).isFalse();
        assertThat(third.key()).isNotIn(first.key(), beside.key());
    }

    @Test
    void invocationThatCouldNotBegin_leavesItsPlaceInTheRun() {
        ReplayScope run = ReplayScope.run(turns.replay().currentRun());
        assertThatThrownBy(() -> turns.replay().begin("call", "memory", run, leftBehind -> {
                    throw new IllegalStateException("the test's");
                }))
                .isInstanceOf(IllegalStateException.class);
        InvocationReplay second = turns.replay().begin("call", "memory", run, SessionReplay.node());
        second.release();

        crashAndReopen();
        ReplayScope again = ReplayScope.run(turns.replay().currentRun());
        assertThat(turns.replay()
                        .begin("call", "memory", again, SessionReplay.node())
                        .key())
                .isEqualTo(second.key());
    }

    @Test
    void unfinishedInvocation_isLeftBehindByAnotherCall_andNotTakenUpAgain() {
        InvocationReplay first = begin("call");
        respond(first, "r1", "one");
        run(first, "t1", ToolEffect.SANDBOX, "done 1");
        turns.settle(SessionReplay.node(), () -> {});
        respond(first, "r2", "two");

        crashAndReopen();
        InvocationReplay other = begin("another");
        assertThat(other.leftBehind()).hasValueSatisfying(history -> {
            assertThat(history.responses()).containsExactly(text("one"), text("two"));
            assertThat(history.results().get(0)).hasSize(1);
            assertThat(history.results().get(1)).isEmpty();
        });
        other.end();
        assertThat(begin("call").isResumed()).isFalse();
    }

    @Test
    void digest_ignoresTheOrderOfKeys_andSeparatesParts() {
        assertThat(Digest.canonical(SessionReplay.node().put("b", 1).put("a", 2)))
                .isEqualTo(Digest.canonical(SessionReplay.node().put("a", 2).put("b", 1)));
        assertThat(Digest.of("ab", "c")).isNotEqualTo(Digest.of("a", "bc"));
    }
}
