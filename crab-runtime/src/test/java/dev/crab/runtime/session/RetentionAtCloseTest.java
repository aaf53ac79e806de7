package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.fault.FaultPoints;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Old generations are dropped beside the session's work, but never after it has given its lock away. */
class RetentionAtCloseTest {
    private static final String SESSION = "closing";

    @AfterEach
    void disarm() {
        FaultPoints.handler(null);
    }

    @Test
    void oldGenerationsAreDroppedUnderTheSessionsLock() throws Exception {
        try (SessionFixture fixture = new SessionFixture(SessionFixture.temporary(), 1)) {
            CountDownLatch closed = new CountDownLatch(1);
            CompletableFuture<OptionalLong> ownerWhileDropping = new CompletableFuture<>();
            FaultPoints.handler((name, times) -> {
                if (name.equals("retention.begin")) {
                    await(closed);
                    ownerWhileDropping.complete(fixture.runtime().owner(SESSION));
                }
            });
            try (SandboxSession session = fixture.open(SESSION)) {
                for (int i = 1; i <= 2; i++) {
                    Turn turn = session.beginTurn();
                    session.sandbox().writeFile("/srv/file", Integer.toString(i));
                    turn.commit(SessionFixture.position(i));
                }
            }
            closed.countDown();
            assertThat(ownerWhileDropping.get(30, TimeUnit.SECONDS)).isPresent();
        }
    }

    /** Until the session is closed, if it can be while this waits. */
    private static void await(CountDownLatch closed) {
        try {
            closed.await(500, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
