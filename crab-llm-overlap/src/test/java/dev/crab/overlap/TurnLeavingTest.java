package dev.crab.overlap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program is told to end in the middle of a turn. */
class TurnLeavingTest {
    private static final long LONG = TimeUnit.SECONDS.toNanos(60);

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

    private static void assertRefused(CompletableFuture<?> work) {
        assertThat(work)
                .failsWithin(60, TimeUnit.SECONDS)
                .withThrowableThat()
                .havingRootCause()
                .isInstanceOfSatisfying(
                        CrabException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ErrorCode.STATE_INVALID));
    }

    @Test
    void leave_toolRuns_waitsForItAndTheNextToolCommits() {
        turns.toolStarts("one", ToolEffect.SANDBOX);
        CompletableFuture<Boolean> left = CompletableFuture.supplyAsync(() -> turns.leave(LONG));
        await().until(() -> !turns.leave(0));
        turns.toolEnded();

        CompletableFuture<Long> next = CompletableFuture.supplyAsync(() -> turns.toolStarts("two", ToolEffect.SANDBOX));

        assertThat(left.join()).isTrue();
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
        assertThat(next).isNotDone();
        turns.close();
        assertRefused(next);
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
    }

    @Test
    void leave_boundary_commitsAndTheLlmCallDoesNotBegin() {
        turns.toolStarts("one", ToolEffect.SANDBOX);
        assertThat(turns.leave(0)).isFalse();
        turns.toolEnded();

        CompletableFuture<LlmWindow> window = CompletableFuture.supplyAsync(() -> turns.boundary(SessionReplay.node()));

        assertThat(turns.leave(LONG)).isTrue();
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
        assertThat(window).isNotDone();
        turns.close();
        assertRefused(window);
    }

    @Test
    void leave_toolCallsAnotherAiService_whoseToolsMayStillRun() {
        turns.toolStarts("outer", ToolEffect.SANDBOX);
        assertThat(turns.leave(0)).isFalse();

        turns.toolStarts("inner", ToolEffect.SANDBOX);
        turns.toolEnded();
        turns.boundary(SessionReplay.node()).close();
        turns.toolEnded();

        assertThat(turns.leave(LONG)).isTrue();
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
    }

    @Test
    void leave_invocationFails_commitsNothing() {
        turns.toolStarts("one", ToolEffect.SANDBOX);
        CompletableFuture<Boolean> left = CompletableFuture.supplyAsync(() -> turns.leave(LONG));
        turns.toolEnded();
        turns.giveUp();

        assertThat(left.join()).isTrue();
        assertThat(session.calls).noneMatch(call -> call.startsWith("commit"));
    }

    @Test
    void leave_invocationThatHasItsAnswer_ends() {
        turns.toolStarts("one", ToolEffect.SANDBOX);
        assertThat(turns.leave(0)).isFalse();
        turns.toolEnded();
        boolean[] ended = new boolean[1];

        turns.settle(SessionReplay.node(), () -> ended[0] = true);

        assertThat(ended[0]).isTrue();
        assertThat(turns.leave(LONG)).isTrue();
    }
}
