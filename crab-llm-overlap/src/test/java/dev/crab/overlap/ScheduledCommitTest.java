package dev.crab.overlap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.crab.overlap.schedule.CaptureScheduler;
import dev.crab.overlap.schedule.ScheduledTurn;
import dev.crab.overlap.schedule.SchedulerSettings;
import dev.crab.overlap.schedule.SchedulerSettings.HostWide;
import dev.crab.runtime.inspector.Effect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A session's commits among those of other sandboxes: one capture at a time, and somebody else has it. */
class ScheduledCommitTest {
    private static final LlmCall SLOW = new LlmCall("slow", 0);
    private static final long SECOND = 1_000_000_000L;

    @TempDir
    Path directory;

    private CaptureScheduler scheduler;
    private JournalSession session;
    private TurnCoordinator turns;
    private ScheduledTurn holds;
    private final List<String> captures = new CopyOnWriteArrayList<>();

    @BeforeEach
    void open() {
        scheduler = CaptureScheduler.open(new SchedulerSettings(
                1, 1, 0, 0, HostWide.OFF, directory.resolve("scheduler"), Duration.ofSeconds(60)));
        for (int i = 0; i < 3; i++) {
            scheduler.estimator().record("slow", 50 * SECOND, 0);
        }
        session = new JournalSession(directory);
        session.duringCommit = () -> captures.add("session");
        turns = TurnCoordinator.builder(session).scheduler(scheduler).build();
        holds = scheduler.turn("somebody", 0, false);
        holds.awaitCapture(Effect.FULL);
    }

    @AfterEach
    void close() {
        scheduler.close();
        turns.close();
        session.close();
    }

    private LlmWindow turn(LlmCall call) {
        turns.toolStarts("one", ToolEffect.SANDBOX);
        turns.toolEnded();
        return turns.boundary(SessionReplay.node(), call);
    }

    private static long waiting() {
        return Thread.getAllStackTraces().values().stream()
                .filter(trace -> Arrays.stream(trace)
                        .anyMatch(frame -> frame.getMethodName().equals("awaitGrant")))
                .count();
    }

    /** Another sandbox that waits for its capture, whose response is expected in ten seconds. */
    private CompletableFuture<Void> other() {
        long before = waiting();
        ScheduledTurn other = scheduler.turn("other", 10 * SECOND, false);
        CompletableFuture<Void> captured = CompletableFuture.runAsync(
                () -> {
                    other.awaitCapture(Effect.FILES);
                    captures.add("other");
                    other.release(0);
                },
                task -> new Thread(task).start());
        await().until(() -> waiting() == before + 1);
        return captured;
    }

    @Test
    void turnWithoutEffect_waitsForNobody() {
        session.effect = Effect.NONE;
        turn(SLOW).close();
        turns.settle(SessionReplay.node(), () -> {});
        assertThat(session.calls).containsExactly("begin 1", "commit 1");
    }

    @Test
    void wait_isReported() {
        LlmWindow window = turn(SLOW);
        await().until(() -> waiting() == 1);
        assertThat(turns.state()).isEqualTo(TurnState.COMMITTING);
        holds.release(0);
        window.close();
        turns.settle(SessionReplay.node(), () -> {});
        await().until(() -> !turns.reports().isEmpty());
        assertThat(turns.reports()).singleElement().satisfies(report -> {
            assertThat(report.captureWaitNanos()).isPositive();
            assertThat(report.persistWaitNanos()).isZero();
            assertThat(TurnReport.fromJson(report.toJson())).isEqualTo(report);
        });
    }

    @Test
    void laterResponse_laterCapture() {
        LlmWindow window = turn(SLOW);
        await().until(() -> waiting() == 1);
        CompletableFuture<Void> other = other();
        holds.release(0);
        other.join();
        await().until(() -> session.calls.contains("commit 1"));
        assertThat(captures).containsExactly("other", "session");
        window.close();
    }

    @Test
    void arrivedResponse_promotes() {
        LlmWindow window = turn(SLOW);
        await().until(() -> waiting() == 1);
        CompletableFuture<Void> other = other();
        window.answered(10);
        holds.release(0);
        other.join();
        assertThat(captures).containsExactly("session", "other");
    }

    @Test
    void toolAtTheGate_promotes() {
        LlmWindow window = turn(SLOW);
        await().until(() -> waiting() == 1);
        CompletableFuture<Void> other = other();
        CompletableFuture<Void> gate = CompletableFuture.runAsync(
                () -> turns.toolStarts("two", ToolEffect.SANDBOX), task -> new Thread(task).start());
        await().until(() -> Thread.getAllStackTraces().values().stream()
                .flatMap(Arrays::stream)
                .anyMatch(frame -> frame.getMethodName().equals("awaitCommit")));
        holds.release(0);
        other.join();
        gate.join();
        assertThat(captures).containsExactly("session", "other");
        window.close();
    }

    @Test
    void answers_teachTheEstimator() {
        holds.release(0);
        long before = scheduler.estimator().predict("quick", 0);
        for (int i = 0; i < 3; i++) {
            turn(new LlmCall("quick", 0)).answered(5);
            turns.settle(SessionReplay.node(), () -> {});
        }
        assertThat(scheduler.estimator().predict("quick", 0)).isLessThan(before);
        for (int i = 0; i < 3; i++) {
            turn(new LlmCall("fails", 0)).close();
            turns.settle(SessionReplay.node(), () -> {});
        }
        assertThat(scheduler.estimator().predict("fails", 0)).isEqualTo(before);
    }
}
