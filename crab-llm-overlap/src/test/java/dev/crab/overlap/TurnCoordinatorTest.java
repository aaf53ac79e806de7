package dev.crab.overlap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.session.UncapturedPolicy;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TurnCoordinatorTest {
    @TempDir
    Path directory;

    private final AtomicLong clock = new AtomicLong();
    private JournalSession session;
    private TurnCoordinator turns;

    @BeforeEach
    void open() {
        open(UncapturedPolicy.FAIL);
    }

    private void open(UncapturedPolicy policy) {
        session = new JournalSession(directory);
        turns = TurnCoordinator.builder(session)
                .clock(clock::get)
                .onUncaptured(policy)
                .build();
    }

    @AfterEach
    void close() {
        turns.close();
        session.close();
    }

    private void tool(String name) {
        turns.toolStarts(name, ToolEffect.SANDBOX);
        turns.toolEnded();
    }

    private static com.fasterxml.jackson.databind.node.ObjectNode position() {
        return SessionReplay.node();
    }

    private static CrabException failure() {
        return CrabException.of(ErrorCode.CAPTURE_FAILED, "what", "why", "cure");
    }

    @Test
    void boundary_returnsWhileTheCommitIsUnderWay_andTheGateHoldsTheNextTool() {
        CountDownLatch captured = new CountDownLatch(1);
        session.duringCommit = () -> awaitLatch(captured);
        tool("one");

        LlmWindow window = turns.boundary(position());

        assertThat(turns.state()).isEqualTo(TurnState.COMMITTING);
        window.close();
        CompletableFuture<Void> next = CompletableFuture.runAsync(() -> tool("two"));
        await().until(() -> Thread.getAllStackTraces().values().stream()
                .flatMap(java.util.Arrays::stream)
                .anyMatch(frame -> frame.getMethodName().equals("awaitCommit")));
        assertThat(next).isNotDone();
        assertThat(session.calls).containsExactly("begin 1");
        captured.countDown();
        next.join();
        assertThat(session.calls).containsExactly("begin 1", "commit 1", "begin 2");
    }

    @Test
    void report_measuresWindowAndExposedDelay() {
        CountDownLatch windowClosed = new CountDownLatch(1);
        session.duringCommit = () -> {
            awaitLatch(windowClosed);
            clock.set(1_700);
        };
        clock.set(1_000);
        tool("one");
        LlmWindow window = turns.boundary(position());
        clock.set(1_500);
        window.close();
        windowClosed.countDown();
        turns.settle(position(), () -> {});

        await().until(() -> !turns.reports().isEmpty());
        assertThat(turns.reports()).singleElement().satisfies(report -> {
            assertThat(report.windowNanos()).isEqualTo(500);
            assertThat(report.exposedNanos()).isEqualTo(200);
            assertThat(report.captureNanos()).isEqualTo(20);
            assertThat(report.freezeNanos()).isEqualTo(10);
            assertThat(report.persistNanos()).isEqualTo(30);
            assertThat(report.bytes()).isEqualTo(100);
            assertThat(report.tools()).containsExactly("one");
            assertThat(report.committed()).isTrue();
        });
    }

    @Test
    void commitInsideTheWindow_exposesNothing() {
        tool("one");
        LlmWindow window = turns.boundary(position());
        await().until(() -> turns.state() == TurnState.QUIET);
        clock.set(9_000);
        window.close();

        await().until(() -> !turns.reports().isEmpty());
        assertThat(turns.reports().get(0).exposedNanos()).isZero();
        assertThat(turns.reports().get(0).windowNanos()).isEqualTo(9_000);
    }

    @Test
    void reports_surviveTheProcess() {
        tool("one");
        turns.boundary(position()).close();
        turns.settle(position(), () -> {});
        await().until(() -> !turns.reports().isEmpty());
        TurnReport before = turns.reports().get(0);
        close();

        open();

        assertThat(turns.reports()).containsExactly(before);
    }

    @Test
    void programThatLeavesWhileTheModelThinks_hasTheReportOfTheTurnBefore() {
        tool("one");
        turns.boundary(position());
        await().until(() -> turns.state() == TurnState.QUIET);
        clock.set(9_000);
        close();

        open();

        assertThat(turns.reports()).singleElement().satisfies(report -> {
            assertThat(report.windowNanos()).isEqualTo(9_000);
            assertThat(report.persistNanos()).isEqualTo(30);
        });
    }

    @Test
    void boundaryWithoutTools_commitsNothing() {
        turns.boundary(position()).close();
        turns.settle(position(), () -> {});
        assertThat(session.calls).isEmpty();
        assertThat(turns.reports()).isEmpty();
    }

    @Test
    void settle_commitsWhatNoLlmCallFollowed() {
        AtomicBoolean done = new AtomicBoolean();
        tool("one");
        turns.settle(position(), () -> done.set(true));
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
        assertThat(done).isTrue();
    }

    @Test
    void failedCommit_underFail_stopsTheNextTool() {
        session.nextCommitFails.set(failure());
        tool("one");
        turns.boundary(position()).close();
        assertThatThrownBy(() -> tool("two"))
                .isInstanceOf(CrabException.class)
                .extracting(e -> ((CrabException) e).code())
                .isEqualTo(ErrorCode.CAPTURE_FAILED);
        await().until(() -> !turns.reports().isEmpty());
        assertThat(turns.reports()).singleElement().satisfies(report -> {
            assertThat(report.committed()).isFalse();
            assertThat(report.failure()).contains("why");
        });
    }

    @Test
    void failedCommit_underFail_stopsTheAnswer() {
        session.nextCommitFails.set(failure());
        tool("one");
        turns.boundary(position()).close();
        AtomicBoolean done = new AtomicBoolean();
        assertThatThrownBy(() -> turns.settle(position(), () -> done.set(true))).isInstanceOf(CrabException.class);
        assertThat(done).isFalse();
    }

    @Test
    void failedCommit_underContinue_goesOnInTheSameTurn() {
        close();
        open(UncapturedPolicy.CONTINUE_UNPROTECTED);
        session.nextCommitFails.set(failure());
        tool("one");
        turns.boundary(position()).close();
        tool("two");
        turns.boundary(position()).close();
        turns.settle(position(), () -> {});
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
        await().until(() -> turns.reports().size() == 2);
        assertThat(turns.reports()).extracting(TurnReport::committed).containsExactly(false, true);
        assertThat(turns.reports().get(1).tools()).containsExactly("one", "two");
    }

    @Test
    void runtimeFault_isATypedFailure() {
        session.duringCommit = () -> {
            throw new IllegalStateException("broken");
        };
        tool("one");
        turns.boundary(position()).close();
        assertThatThrownBy(() -> tool("two"))
                .isInstanceOf(CrabException.class)
                .hasMessageContaining("INTERNAL")
                .hasMessageContaining("broken");
    }

    @Test
    void giveUp_leavesTheEffectsToTheNextTurn() {
        tool("one");
        turns.giveUp();
        tool("two");
        turns.settle(position(), () -> {});
        assertThat(session.calls).containsExactly("begin 1", "abandon 1", "begin 1", "commit 1");
    }

    @Test
    void boundaryWhileAnotherInvocationsToolRuns_commitsWhenItEnds() {
        AtomicBoolean done = new AtomicBoolean();
        turns.toolStarts("long", ToolEffect.SANDBOX);
        tool("short");
        turns.settle(position(), () -> done.set(true));
        assertThat(turns.state()).isEqualTo(TurnState.DUE);
        assertThat(session.calls).containsExactly("begin 1");
        assertThat(done).isFalse();

        turns.toolEnded();

        await().untilTrue(done);
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
    }

    @Test
    void readOnlyTool_thatChangedTheSandbox_isReported() {
        turns.toolStarts("look", ToolEffect.READ_ONLY);
        turns.toolEnded();
        turns.settle(position(), () -> {});
        await().until(() -> !turns.reports().isEmpty());
        assertThat(turns.reports().get(0).claimBroken()).isTrue();
    }

    @Test
    void readOnlyTool_thatKeptItsWord_isNot() {
        session.effect = Effect.NONE;
        turns.toolStarts("look", ToolEffect.READ_ONLY);
        turns.toolEnded();
        turns.settle(position(), () -> {});
        await().until(() -> !turns.reports().isEmpty());
        assertThat(turns.reports().get(0).claimBroken()).isFalse();
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
