package dev.crab.overlap.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.crab.overlap.schedule.SchedulerSettings.HostWide;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.Effect;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The live scheduler, with real threads and, where two programs are meant, two schedulers and a real socket. */
class CaptureSchedulerTest {
    private static final long SECOND = 1_000_000_000L;

    @TempDir
    Path above;

    private final List<CaptureScheduler> open = new ArrayList<>();

    private CaptureScheduler open(int captures, HostWide hostWide, Duration maxWait) {
        return open(captures, 0, hostWide, maxWait);
    }

    private CaptureScheduler open(int captures, long unwritten, HostWide hostWide, Duration maxWait) {
        CaptureScheduler scheduler = CaptureScheduler.open(
                new SchedulerSettings(captures, 2, unwritten, 0, hostWide, above.resolve("scheduler"), maxWait));
        open.add(scheduler);
        return scheduler;
    }

    @AfterEach
    void close() {
        open.forEach(CaptureScheduler::close);
    }

    private static CompletableFuture<Long> captureOf(ScheduledTurn turn) {
        return CompletableFuture.supplyAsync(() -> turn.awaitCapture(Effect.FULL), task -> new Thread(task).start());
    }

    /** The threads that wait for a grant. */
    private static long waiting() {
        return Thread.getAllStackTraces().values().stream()
                .filter(trace -> java.util.Arrays.stream(trace)
                        .anyMatch(frame -> frame.getMethodName().equals("awaitGrant")))
                .count();
    }

    @Test
    void aloneOnTheHost_nobodyWaits() {
        CaptureScheduler scheduler = open(1, HostWide.OFF, Duration.ofSeconds(60));
        for (int i = 0; i < 1000; i++) {
            ScheduledTurn turn = scheduler.turn("a", SECOND, false);
            assertThat(turn.awaitCapture(Effect.FULL)).isZero();
            assertThat(turn.awaitPersist(0)).isZero();
            turn.release(10);
        }
    }

    @Test
    void earlierDeadline_goesFirst_andWhoIsWaitedForBeforeIt() {
        CaptureScheduler scheduler = open(1, HostWide.OFF, Duration.ofSeconds(60));
        ScheduledTurn holds = scheduler.turn("holds", 0, false);
        holds.awaitCapture(Effect.FULL);
        List<String> order = new CopyOnWriteArrayList<>();
        List<ScheduledTurn> turns = new ArrayList<>();
        List<CompletableFuture<Void>> done = new ArrayList<>();
        for (String name : List.of("late", "soon", "promoted")) {
            ScheduledTurn turn = scheduler.turn(name, name.equals("soon") ? 20 * SECOND : 50 * SECOND, false);
            turns.add(turn);
            done.add(captureOf(turn).thenAccept(waited -> {
                order.add(name);
                turn.release(0);
            }));
            await().until(() -> waiting() == turns.size());
        }
        turns.get(2).promote();

        holds.release(0);

        done.forEach(CompletableFuture::join);
        assertThat(order).containsExactly("promoted", "soon", "late");
    }

    @Test
    void promotedBeforeItAsks_countsFromThatMoment() {
        CaptureScheduler scheduler = open(1, HostWide.OFF, Duration.ofSeconds(60));
        ScheduledTurn holds = scheduler.turn("holds", 0, false);
        holds.awaitCapture(Effect.FULL);
        ScheduledTurn early = scheduler.turn("early", 50 * SECOND, false);
        early.promote();
        // An equal deadline is one within the same tenth of a second.
        ScheduledTurn later = scheduler.turn("later", SECOND, true);
        CompletableFuture<Long> laterWaits = captureOf(later);
        await().until(() -> waiting() == 1);
        CompletableFuture<Long> earlyWaits = captureOf(early);
        await().until(() -> waiting() == 2);
        holds.release(0);
        earlyWaits.join();
        assertThat(laterWaits).isNotDone();
        early.release(0);
        laterWaits.join();
    }

    @Test
    void failedAttempt_givesItsPlaceBack() {
        CaptureScheduler scheduler = open(1, HostWide.OFF, Duration.ofSeconds(60));
        ScheduledTurn failed = scheduler.turn("failed", 0, false);
        failed.awaitCapture(Effect.FILES);
        CompletableFuture<Long> next = captureOf(scheduler.turn("next", 0, false));
        await().until(() -> waiting() == 1);
        failed.release(0);
        assertThat(next.join()).isPositive();
        assertThat(failed.awaitPersist(0)).isZero();
        failed.release(0);
    }

    @Test
    void turnThatAsksForNothing_leavesNothing() {
        CaptureScheduler scheduler = open(1, HostWide.OFF, Duration.ofSeconds(60));
        ScheduledTurn none = scheduler.turn("none", 0, false);
        none.promote();
        none.release(0);
        assertThat(scheduler.turn("next", 0, false).awaitCapture(Effect.FULL)).isZero();
    }

    @Test
    void waitThatTakesTooLong_isOver_andTheTurnGoesOn() {
        CaptureScheduler scheduler = open(1, HostWide.OFF, Duration.ofSeconds(1));
        scheduler.turn("hangs", 0, false).awaitCapture(Effect.FULL);
        ScheduledTurn turn = scheduler.turn("goes on", 0, false);
        assertThat(turn.awaitCapture(Effect.FULL)).isGreaterThanOrEqualTo(SECOND);
        assertThat(turn.awaitPersist(0)).isZero();
        turn.release(0);
    }

    @Test
    void interrupt_endsTheWaitAndNotTheTurn() throws InterruptedException {
        CaptureScheduler scheduler = open(1, HostWide.OFF, Duration.ofSeconds(60));
        scheduler.turn("holds", 0, false).awaitCapture(Effect.FULL);
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            scheduler.turn("interrupted", 0, false).awaitCapture(Effect.FULL);
            interrupted.complete(Thread.interrupted());
        });
        thread.start();
        await().until(() -> waiting() == 1);
        thread.interrupt();
        assertThat(interrupted.join()).isTrue();
        thread.join();
    }

    @Test
    void closing_letsEverybodyGoOn() {
        CaptureScheduler scheduler = open(1, HostWide.AUTO, Duration.ofSeconds(60));
        ScheduledTurn holds = scheduler.turn("holds", 0, false);
        holds.awaitCapture(Effect.FULL);
        CompletableFuture<Long> waits = captureOf(scheduler.turn("waits", 0, false));
        await().until(() -> waiting() == 1);

        scheduler.close();

        waits.join();
        assertThat(holds.awaitPersist(0)).isZero();
        holds.release(0);
        assertThat(scheduler.turn("later", 0, false).awaitCapture(Effect.FULL)).isZero();
        assertThat(above.resolve("scheduler").resolve("socket")).doesNotExist();
    }

    @Test
    void secondProgram_asksTheFirst() {
        CaptureScheduler first = open(1, HostWide.AUTO, Duration.ofSeconds(60));
        CaptureScheduler second = open(9, HostWide.ON, Duration.ofSeconds(60));
        assertThat(first.place()).startsWith("serves");
        assertThat(second.place()).startsWith("asks");
        ScheduledTurn holds = second.turn("one", 0, false);
        holds.awaitCapture(Effect.FULL);
        CompletableFuture<Long> waits = captureOf(first.turn("one", 0, false));
        await().until(() -> waiting() == 1);
        holds.awaitPersist(0);
        waits.join();
        holds.release(0);
    }

    @Test
    void unwrittenBytesOfAnotherProgram_holdCapturesBack() {
        CaptureScheduler first = open(4, 1000, HostWide.AUTO, Duration.ofSeconds(60));
        CaptureScheduler second = open(4, HostWide.ON, Duration.ofSeconds(60));
        ScheduledTurn holds = second.turn("holds", 0, false);
        holds.awaitCapture(Effect.FULL);
        ScheduledTurn little = second.turn("little", 0, false);
        little.awaitCapture(Effect.FULL);
        little.awaitPersist(999);
        first.turn("goes", 0, false).awaitCapture(Effect.FULL);
        holds.awaitPersist(1);

        CompletableFuture<Long> waits = captureOf(first.turn("waits", 0, false));
        await().until(() -> waiting() == 1);
        holds.release(1);

        waits.join();
    }

    @Test
    void promotion_reachesTheProgramThatServes() {
        CaptureScheduler first = open(1, HostWide.AUTO, Duration.ofSeconds(60));
        CaptureScheduler second = open(1, HostWide.AUTO, Duration.ofSeconds(60));
        ScheduledTurn holds = second.turn("holds", 0, false);
        holds.awaitCapture(Effect.FULL);
        CompletableFuture<Long> soon = captureOf(first.turn("soon", SECOND, false));
        await().until(() -> waiting() == 1);
        ScheduledTurn late = second.turn("late", 50 * SECOND, false);
        CompletableFuture<Long> waits = captureOf(late);
        await().until(() -> waiting() == 2);

        // One connection keeps the order of what is sent on it.
        late.promote();
        holds.release(0);

        waits.join();
        assertThat(soon).isNotDone();
        late.release(0);
        soon.join();
    }

    @Test
    void turnReleasedWhileItWaits_waitsNoMore() {
        CaptureScheduler scheduler = open(1, HostWide.OFF, Duration.ofSeconds(60));
        scheduler.turn("holds", 0, false).awaitCapture(Effect.FULL);
        ScheduledTurn turn = scheduler.turn("released", 0, false);
        CompletableFuture<Long> waits = captureOf(turn);
        await().until(() -> waiting() == 1);
        turn.release(0);
        assertThat(waits.join()).isLessThan(60 * SECOND);
    }

    @Test
    void manyThreads_neverExceedTheBound_andAllGetThrough() {
        CaptureScheduler first = open(3, HostWide.AUTO, Duration.ofSeconds(60));
        CaptureScheduler second = open(3, HostWide.AUTO, Duration.ofSeconds(60));
        AtomicInteger now = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            String name = "s" + i;
            CaptureScheduler scheduler = i % 2 == 0 ? first : second;
            threads.add(CompletableFuture.runAsync(
                    () -> {
                        for (int turn = 0; turn < 50; turn++) {
                            ScheduledTurn scheduled = scheduler.turn(name, turn, false);
                            scheduled.awaitCapture(turn % 2 == 0 ? Effect.FILES : Effect.FULL);
                            most.accumulateAndGet(now.incrementAndGet(), Math::max);
                            Thread.onSpinWait();
                            now.decrementAndGet();
                            scheduled.awaitPersist(0);
                            scheduled.release(1);
                        }
                    },
                    task -> new Thread(task).start()));
        }
        threads.forEach(CompletableFuture::join);
        assertThat(most.get()).isLessThanOrEqualTo(3);
    }

    @Test
    void hostThatHasNoPlaceToMeet_isRefusedOnlyWhereItIsInsistedOn() throws Exception {
        Files.writeString(above.resolve("scheduler"), "a file");
        assertThatThrownBy(() -> open(1, HostWide.ON, Duration.ofSeconds(60)))
                .isInstanceOf(CrabException.class)
                .extracting(e -> ((CrabException) e).code())
                .isEqualTo(ErrorCode.IO_FAILED);
        CaptureScheduler scheduler = open(1, HostWide.AUTO, Duration.ofSeconds(60));
        assertThat(scheduler.place()).isEqualTo("by itself");
        assertThat(scheduler.turn("a", 0, false).awaitCapture(Effect.FULL)).isZero();
    }

    @Test
    void programOfAnotherUser_isTurnedAway() throws Exception {
        assertThat(open(1, HostWide.AUTO, Duration.ofSeconds(60)).place()).startsWith("serves");
        Path socket = above.resolve("scheduler").resolve("socket");
        // What keeps others out otherwise.
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
        Files.setPosixFilePermissions(above.resolve("scheduler"), PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(above, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertThat(greet(List.of(), socket)).isEqualTo("connected\n5 bytes\n");
        assertThat(greet(List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"), socket))
                .isEqualTo("connected\n0 bytes\n");
    }

    /** Says hello in a process of its own, and tells how many bytes came back. */
    private static String greet(List<String> as, Path socket) throws IOException {
        List<String> command = new ArrayList<>(as);
        command.addAll(List.of("perl", "-MIO::Socket::UNIX", "-e", """
                $| = 1;
                $SIG{PIPE} = 'IGNORE';
                my $server = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "connect: $!";
                print "connected\\n";
                syswrite($server, pack('nCNn', 7, 1, 0x43524142, 2));
                my $answer = '';
                sysread($server, $answer, 9);
                print length($answer), " bytes\\n";
                """, socket.toString()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    }
}
