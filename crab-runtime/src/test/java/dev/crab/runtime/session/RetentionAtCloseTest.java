package dev.crab.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.store.CheckpointStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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

    @Test
    void oldGenerationThatCannotBeRead_goesByItsNames() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SessionFixture.temporary(), 2)) {
            try (SandboxSession session = fixture.open(SESSION)) {
                for (int i = 1; i <= 4; i++) {
                    Turn turn = session.beginTurn();
                    session.sandbox().writeFile("/srv/file", Integer.toString(i));
                    turn.commit(SessionFixture.position(i));
                    if (i == 2) {
                        Path file = CheckpointStore.manifests(fixture.runtime().data(), SESSION)
                                .file(1);
                        byte[] content = Files.readAllBytes(file);
                        content[content.length / 2] ^= 1;
                        Files.write(file, content);
                    }
                }
            }
            assertThat(fixture.stored(SESSION)).noneMatch(name -> name.contains("g1") || name.startsWith("1."));
            assertThat(fixture.stored(SESSION)).contains("3.json", "4.json").noneMatch(name -> name.startsWith("2."));
            assertThat(findings(fixture)).isNotEmpty().allMatch(finding -> finding.problem() == null);
        }
    }

    private static List<SessionArchive.Finding> findings(SessionFixture fixture) {
        List<SessionArchive.Finding> findings = new ArrayList<>();
        fixture.runtime().verify(SESSION, findings::add);
        return findings;
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
