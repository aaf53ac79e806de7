package dev.crab.overlap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.session.UncapturedPolicy;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MicrometerTurnListenerTest {
    @TempDir
    Path directory;

    @Test
    void turns_areMetered() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (JournalSession session = new JournalSession(directory);
                TurnCoordinator turns = TurnCoordinator.builder(session)
                        .onUncaptured(UncapturedPolicy.CONTINUE_UNPROTECTED)
                        .listener(new MicrometerTurnListener(registry))
                        .build()) {
            session.nextCommitFails.set(CrabException.of(ErrorCode.CAPTURE_FAILED, "what", "why", "cure"));
            for (int i = 0; i < 2; i++) {
                turns.toolStarts("one", ToolEffect.SANDBOX);
                turns.toolEnded();
                turns.boundary(SessionReplay.node()).close();
                turns.settle(SessionReplay.node(), () -> {});
            }
            await().until(() -> registry.find("crab.turns").counters().size() == 2);
        }
        assertThat(registry.get("crab.turns")
                        .tags("effect", "FULL", "saved", "NOTHING", "committed", "false")
                        .counter()
                        .count())
                .isEqualTo(1);
        assertThat(registry.get("crab.turns")
                        .tags("effect", "FILES", "saved", "FILES", "committed", "true")
                        .counter()
                        .count())
                .isEqualTo(1);
        assertThat(registry.get("crab.turn.freeze").timer().totalTime(TimeUnit.NANOSECONDS))
                .isEqualTo(10);
        assertThat(registry.get("crab.turn.capture").timer().totalTime(TimeUnit.NANOSECONDS))
                .isEqualTo(20);
        assertThat(registry.get("crab.turn.persist").timer().totalTime(TimeUnit.NANOSECONDS))
                .isEqualTo(30);
        assertThat(registry.get("crab.turn.capture.wait").timer().count()).isEqualTo(1);
        assertThat(registry.get("crab.turn.bytes").summary().totalAmount()).isEqualTo(100);
        assertThat(registry.get("crab.turn.window").timer().count()).isEqualTo(1);
        assertThat(registry.get("crab.turn.exposed").timer().count()).isEqualTo(2);
        assertThat(registry.get("crab.gate").timer().count()).isEqualTo(2);
    }
}
