package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.overlap.ToolEffect;
import dev.crab.overlap.TurnCoordinator;
import dev.crab.overlap.TurnReport;
import dev.crab.overlap.schedule.CaptureScheduler;
import dev.crab.overlap.schedule.SchedulerSettings;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.session.SandboxSession;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Several real sandboxes with processes of their own share a host that allows one capture at a time. */
class SharedHostTest {
    private static final int SESSIONS = 3;
    private static final int TURNS = 4;

    private final Path data = RealSandbox.newData();

    @AfterEach
    void remove() {
        FaultPoints.handler(null);
        RealSandbox.remove(data);
    }

    private static ObjectNode position() {
        return JsonNodeFactory.instance.objectNode();
    }

    @Test
    void sessionsOfOneProgram_neverCaptureAtTheSameTime_andAllCommit() {
        AtomicInteger now = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        FaultPoints.handler((name, times) -> {
            if (name.equals("capture.begin")) {
                most.accumulateAndGet(now.incrementAndGet(), Math::max);
            } else if (name.equals("capture.resumed")) {
                now.decrementAndGet();
            }
        });
        SchedulerSettings one = SchedulerSettings.resolve(Map.of(
                SchedulerSettings.CAPTURES,
                "1",
                SchedulerSettings.DIRECTORY,
                data.resolve("scheduler").toString()));
        CyclicBarrier together = new CyclicBarrier(SESSIONS);
        List<TurnReport> reports = new ArrayList<>();
        try (CrabRuntime runtime = CrabRuntime.builder().dataDirectory(data).build();
                CaptureScheduler scheduler = CaptureScheduler.open(one)) {
            List<CompletableFuture<List<TurnReport>>> sessions = new ArrayList<>();
            for (int i = 0; i < SESSIONS; i++) {
                String id = "shared-" + i;
                sessions.add(CompletableFuture.supplyAsync(
                        () -> turns(runtime, scheduler, id, together), task -> new Thread(task).start()));
            }
            sessions.forEach(session -> reports.addAll(session.join()));
        }
        assertThat(reports).hasSize(SESSIONS * TURNS).allMatch(TurnReport::committed);
        assertThat(reports).extracting(report -> report.saved().name()).containsOnly("PROCESSES_AND_FILES");
        assertThat(most.get()).isEqualTo(1);
        // They did come in each other's way, else this would prove nothing.
        assertThat(reports).anyMatch(report -> report.captureWaitNanos() > 0);
        assertThat(reports).allMatch(report -> report.captureWaitNanos() <= report.captureNanos());
    }

    private static List<TurnReport> turns(
            CrabRuntime runtime, CaptureScheduler scheduler, String id, CyclicBarrier together) {
        try (SandboxSession session = runtime.open(id, RealSandbox.spec());
                TurnCoordinator turns =
                        TurnCoordinator.builder(session).scheduler(scheduler).build()) {
            for (int turn = 0; turn < TURNS; turn++) {
                turns.toolStarts("count", ToolEffect.SANDBOX);
                if (turn == 0) {
                    RealSandbox.startCounter(session.sandbox());
                }
                assertThat(RealSandbox.count(session.sandbox())).isEqualTo(Integer.toString(turn + 1));
                turns.toolEnded();
                together.await();
                turns.settle(position(), () -> {});
            }
            return turns.reports();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
