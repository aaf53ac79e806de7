package dev.crab.overlap.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Schedulers in JVMs of their own, which are killed. One capture at a time is all that the host allows here. */
class HostWideTest {
    private static final String[] ONE = {
        "-D" + SchedulerSettings.CAPTURES + "=1", "-D" + SchedulerSettings.PERSISTS + "=1"
    };

    @TempDir
    Path above;

    private final List<SchedulerProcess> started = new ArrayList<>();

    private Path directory() {
        return above.resolve("scheduler");
    }

    private SchedulerProcess start() throws IOException {
        SchedulerProcess process = SchedulerProcess.start(directory(), ONE);
        started.add(process);
        return process;
    }

    @AfterEach
    void end() {
        started.forEach(SchedulerProcess::close);
    }

    private static void assertWaits(SchedulerProcess process) throws IOException {
        // A wait that has not ended cannot be seen to go on; but whoever is let go at once says so within this time.
        await().during(Duration.ofMillis(200)).atMost(Duration.ofSeconds(5)).until(() -> !process.hasNext());
    }

    @Test
    void firstServes_othersAsk_andNoTwoCaptureAtOnce() throws IOException {
        SchedulerProcess first = start();
        SchedulerProcess second = start();
        SchedulerProcess third = start();
        assertThat(first.ask("place")).isEqualTo("serves");
        assertThat(second.ask("place")).isEqualTo("asks");
        assertThat(third.ask("place")).isEqualTo("asks");
        record Span(long begin, long end) {}
        List<Span> spans = new ArrayList<>();
        for (SchedulerProcess process : started) {
            process.send("cycle 100");
        }
        for (SchedulerProcess process : started) {
            for (String line = process.next(); !line.equals("done"); line = process.next()) {
                String[] words = line.split(" ", -1);
                spans.add(new Span(Long.parseLong(words[0]), Long.parseLong(words[1])));
            }
        }
        spans.sort(Comparator.comparingLong(Span::begin));
        assertThat(spans).hasSize(300);
        for (int i = 1; i < spans.size(); i++) {
            assertThat(spans.get(i).begin())
                    .isGreaterThanOrEqualTo(spans.get(i - 1).end());
        }
    }

    @Test
    void serverKilledWhileItCaptures_whoeverWaitsGoesOn() throws Exception {
        SchedulerProcess first = start();
        SchedulerProcess second = start();
        assertThat(first.ask("capture")).isEqualTo("captured");
        second.send("capture");
        assertWaits(second);

        first.kill();

        second.expect("captured");
        assertThat(second.ask("place")).isEqualTo("serves");
        assertThat(second.ask("persist")).isEqualTo("persisted");
        assertThat(second.ask("release")).isEqualTo("released");
    }

    @Test
    void serverKilled_whatAnotherHoldsIsStillItsOwn() throws Exception {
        SchedulerProcess first = start();
        SchedulerProcess second = start();
        SchedulerProcess third = start();
        assertThat(second.ask("capture")).isEqualTo("captured");

        first.kill();
        await().atMost(Duration.ofSeconds(30)).until(() -> {
            List<String> places = List.of(second.ask("place"), third.ask("place"));
            return places.contains("serves") && places.contains("asks");
        });
        third.send("capture");

        assertWaits(third);
        assertThat(second.ask("release")).isEqualTo("released");
        third.expect("captured");
    }

    @Test
    void clientKilledWhileItCaptures_itsPlaceIsFree() throws Exception {
        SchedulerProcess first = start();
        SchedulerProcess second = start();
        assertThat(second.ask("capture")).isEqualTo("captured");
        first.send("capture");
        assertWaits(first);

        second.kill();

        first.expect("captured");
    }

    @Test
    void serverThatCloses_leavesTheRestToTheOthers() throws Exception {
        SchedulerProcess first = start();
        SchedulerProcess second = start();
        assertThat(first.ask("close")).isEqualTo("closed");
        await().atMost(Duration.ofSeconds(30)).until(() -> second.ask("place").equals("serves"));
        assertThat(start().ask("place")).isEqualTo("asks");
    }

    @Test
    void serverStopped_nobodyHangs_andAllMeetAgainWhenItGoesOn() throws Exception {
        SchedulerProcess first = start();
        SchedulerProcess second = start();
        first.signal("STOP");

        assertThat(second.ask("capture")).isEqualTo("captured");
        assertThat(second.ask("place")).isEqualTo("by");

        first.signal("CONT");
        await().atMost(Duration.ofSeconds(60)).until(() -> second.ask("place").equals("asks"));
        first.send("capture");
        assertWaits(first);
        assertThat(second.ask("release")).isEqualTo("released");
        first.expect("captured");
    }

    @Test
    void whatDoesNotFitTheProtocol_endsItsConnectionAndNothingElse() throws Exception {
        SchedulerProcess first = start();
        byte[][] bad = {
            {0, 0},
            {(byte) 0xff, (byte) 0xff, 1},
            "GET / HTTP/1.1\r\n\r\n".getBytes(java.nio.charset.StandardCharsets.US_ASCII),
            {0, 7, 1, 'X', 'R', 'A', 'B', 0, 1},
            {0, 3, 1, 'C', 'R'},
            {0, 7, 1, 'C', 'R', 'A', 'B', 0, 1, 0, 2, 2, 0},
            {0, 7, 1, 'C', 'R', 'A', 'B', 0, 1, 0, 9, 4, 0, 0, 0, 0, 0, 0, 0, 9},
            {0, 7, 1, 'C', 'R', 'A', 'B', 0, 1, 0, 22, 2, 0, 0, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
            },
            {0, 7, 1, 'C', 'R', 'A', 'B', 0, 9},
        };
        for (byte[] message : bad) {
            try (SocketChannel channel =
                    SocketChannel.open(UnixDomainSocketAddress.of(directory().resolve("socket")))) {
                channel.write(ByteBuffer.wrap(message));
                ByteBuffer answer = ByteBuffer.allocate(100);
                // Ends by itself, whatever was said before.
                while (channel.read(answer) >= 0) {
                    answer.clear();
                }
            }
        }
        assertThat(start().ask("capture")).isEqualTo("captured");
        assertThat(first.ask("place")).isEqualTo("serves");
    }

    @Test
    void socketAndDirectory_areForTheirOwnerAlone() throws Exception {
        start();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory())))
                .isEqualTo("rwx------");
        assertThat(PosixFilePermissions.toString(
                        Files.getPosixFilePermissions(directory().resolve("socket"))))
                .isEqualTo("rw-------");
        assertThat(PosixFilePermissions.toString(
                        Files.getPosixFilePermissions(directory().resolve("lock"))))
                .isEqualTo("rw-------");
    }

    @Test
    void directoryThatLetsOthersIn_isNotUsed() throws Exception {
        Files.createDirectory(
                directory(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        SchedulerProcess process = start();
        assertThat(process.ask("place")).isEqualTo("by");
        assertThat(process.ask("capture")).isEqualTo("captured");
    }
}
