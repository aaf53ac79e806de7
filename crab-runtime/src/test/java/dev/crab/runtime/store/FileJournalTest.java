package dev.crab.runtime.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileJournalTest {
    @TempDir
    Path directory;

    @AfterEach
    void disarm() {
        FaultPoints.handler(null);
    }

    @Test
    void reopened_givesEveryRecordInOrder() {
        try (FileJournal journal = FileJournal.open(directory)) {
            assertThat(journal.recovered()).isEmpty();
            assertThat(journal.append("first", body(1)).sequence()).isZero();
            assertThat(journal.append("second", body(2)).sequence()).isEqualTo(1);
        }
        try (FileJournal journal = FileJournal.open(directory)) {
            assertThat(journal.recovered())
                    .containsExactly(new JournalRecord(0, "first", body(1)), new JournalRecord(1, "second", body(2)));
            assertThat(journal.append("third", body(3)).sequence()).isEqualTo(2);
        }
        assertThat(FileJournal.read(directory)).hasSize(3);
    }

    private static ObjectNode nested(int levels) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        ArrayNode at = body.putArray("deep");
        for (int i = 0; i < levels; i++) {
            at = at.addArray();
        }
        return body;
    }

    /** One that is written and never read again would take the whole session along. */
    @Test
    void recordOfAnyContent_isReadAgain_orRefused() {
        List<ObjectNode> bodies = new ArrayList<>();
        for (int levels : new int[] {150, 250, 990, 995, 996, 997, 998, 999, 1000, 1001, 3000}) {
            bodies.add(nested(levels));
        }
        JsonNodeFactory json = JsonNodeFactory.instance;
        bodies.add(json.objectNode().put("k".repeat(1_000_000), 1));
        bodies.add(json.objectNode().put("number", new BigInteger("7".repeat(20_000))));
        bodies.add(json.objectNode().put("number", new BigDecimal("0." + "7".repeat(20_000))));
        bodies.add(json.objectNode().put("number", new BigDecimal("7E-99999")));
        bodies.add(json.objectNode().put("number", Double.NaN));
        bodies.add(json.objectNode().put("text", "x".repeat(25_000_000)));
        bodies.add(json.objectNode().put("text", "\uD800\u0000\uFFFF"));
        int refused = 0;
        for (ObjectNode body : bodies) {
            try (FileJournal journal = FileJournal.open(directory)) {
                journal.append("odd", body);
            } catch (CrabException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.LIMIT_EXCEEDED);
                refused++;
            }
        }
        assertThat(FileJournal.read(directory)).hasSize(bodies.size() - refused);
        assertThat(refused).isBetween(1, 8);
    }

    @Test
    void files_areReadableByTheirOwnerOnly() throws IOException {
        FileJournal.open(directory).close();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(journal())))
                .isEqualTo("rw-------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(side())))
                .isEqualTo("rw-------");
    }

    @Test
    void bodyChangedAfterAppend_doesNotChangeTheRecord() {
        try (FileJournal journal = FileJournal.open(directory)) {
            ObjectNode body = body(1);
            JournalRecord entry = journal.append("first", body);
            body.put("n", 99);
            assertThat(entry.body()).isEqualTo(body(1));
        }
    }

    @Test
    void anyFlippedByteOfADurableJournal_isRefusedAndNamed() throws IOException {
        byte[] intact = threeRecords();
        for (int i = 0; i < intact.length; i++) {
            byte[] damaged = intact.clone();
            damaged[i] ^= 0x10;
            Files.write(journal(), damaged);
            assertCorrupt("byte " + i, journal(), () -> FileJournal.open(directory));
            assertThat(Files.readAllBytes(journal())).as("left as found").isEqualTo(damaged);
        }
    }

    @Test
    void journalCutAnywhereBelowItsDurableLength_isRefused() throws IOException {
        byte[] intact = threeRecords();
        for (int length = 0; length < intact.length; length++) {
            Files.write(journal(), Arrays.copyOf(intact, length));
            assertCorrupt("length " + length, journal(), () -> FileJournal.open(directory));
        }
        Files.delete(journal());
        assertCorrupt("missing", journal(), () -> FileJournal.open(directory));
    }

    @Test
    void damagedOrMissingSideFile_isRefusedAndNamed() throws IOException {
        threeRecords();
        byte[] intact = Files.readAllBytes(side());
        for (int i = 0; i < intact.length; i++) {
            byte[] damaged = intact.clone();
            damaged[i] ^= 1;
            Files.write(side(), damaged);
            assertCorrupt("byte " + i, side(), () -> FileJournal.open(directory));
        }
        Files.write(side(), Arrays.copyOf(intact, 5));
        assertCorrupt("cut", side(), () -> FileJournal.open(directory));
        Files.delete(side());
        assertCorrupt("missing", side(), () -> FileJournal.open(directory));
    }

    @Test
    void tornTailAboveTheDurableLength_isDroppedAndTheJournalGoesOn() throws IOException {
        int oneRecord;
        byte[] earlier;
        try (FileJournal journal = FileJournal.open(directory)) {
            journal.append("first", body(1));
            oneRecord = (int) Files.size(journal());
            earlier = Files.readAllBytes(side());
            journal.append("second", body(2));
        }
        byte[] intact = Files.readAllBytes(journal());
        for (int i = oneRecord; i < intact.length; i++) {
            byte[] flipped = intact.clone();
            flipped[i] ^= 4;
            for (byte[] tail : List.of(Arrays.copyOf(intact, i), flipped)) {
                Files.write(journal(), tail);
                Files.write(side(), earlier);
                try (FileJournal journal = FileJournal.open(directory)) {
                    assertThat(journal.recovered())
                            .as("byte %d", i)
                            .containsExactly(new JournalRecord(0, "first", body(1)));
                    assertThat(journal.append("again", body(3)).sequence()).isEqualTo(1);
                }
                assertThat(FileJournal.read(directory))
                        .extracting(JournalRecord::kind)
                        .containsExactly("first", "again");
            }
        }
    }

    @Test
    void intactTailAboveTheDurableLength_isKept() throws IOException {
        byte[] earlier;
        try (FileJournal journal = FileJournal.open(directory)) {
            earlier = Files.readAllBytes(side());
            journal.append("first", body(1));
        }
        Files.write(side(), earlier);
        try (FileJournal journal = FileJournal.open(directory)) {
            assertThat(journal.recovered()).hasSize(1);
        }
    }

    @Test
    void damageInFrontOfARecordThatVouchesForIt_isRefusedWhateverTheSideFileSays() throws IOException {
        byte[] stale;
        int first;
        try (FileJournal journal = FileJournal.open(directory)) {
            stale = Files.readAllBytes(side());
            journal.append("first", body(1));
            first = (int) Files.size(journal());
            journal.append("second", body(2));
        }
        byte[] intact = Files.readAllBytes(journal());
        for (int i = JournalFormat.HEADER_BYTES; i < first; i++) {
            byte[] damaged = intact.clone();
            damaged[i] ^= 0x40;
            Files.write(journal(), damaged);
            Files.write(side(), stale);
            assertCorrupt("byte " + i, journal(), () -> FileJournal.open(directory));
        }
    }

    @Test
    void crashWhileTheJournalWasMade_startsAnew() throws IOException {
        Files.write(side(), JournalFormat.durable(0));
        FileJournal.open(directory).close();
        Files.write(side(), JournalFormat.durable(0));
        Files.write(journal(), new byte[7]);
        try (FileJournal journal = FileJournal.open(directory)) {
            assertThat(journal.recovered()).isEmpty();
            journal.append("first", body(1));
        }
        assertThat(FileJournal.read(directory)).hasSize(1);
    }

    @Test
    void newerVersion_isRefusedAsUnknown() throws IOException {
        FileJournal.open(directory).close();
        byte[] content = JournalFormat.header();
        content[8] = 2;
        java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
        crc.update(content, 0, 12);
        java.nio.ByteBuffer.wrap(content).putInt(12, (int) crc.getValue());
        Files.write(journal(), content);
        assertThatThrownBy(() -> FileJournal.open(directory))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.FORMAT_UNKNOWN));
    }

    @Test
    void callersSideBySide_shareOneFlush() {
        int callers = 8;
        ExecutorService threads = Executors.newFixedThreadPool(callers);
        try (FileJournal journal = FileJournal.open(directory)) {
            AtomicInteger flushes = new AtomicInteger();
            FaultPoints.handler((name, times) -> {
                if (name.equals("journal.flush") && flushes.incrementAndGet() == 1) {
                    // The first leader waits until everyone else has written behind it.
                    await().until(() -> FileJournal.read(directory).size() == callers);
                }
            });
            CompletableFuture.allOf(IntStream.range(0, callers)
                            .mapToObj(i -> CompletableFuture.runAsync(() -> journal.append("one", body(i)), threads))
                            .toArray(CompletableFuture[]::new))
                    .join();
            assertThat(flushes).hasValue(2);
            assertThat(journal.durableLength()).isEqualTo(size(journal()));
        } finally {
            threads.shutdown();
        }
        assertThat(FileJournal.read(directory))
                .extracting(JournalRecord::sequence)
                .containsExactlyElementsOf(
                        IntStream.range(0, callers).mapToObj(i -> (long) i).toList());
    }

    @Test
    void recordThatIsOnlyWritten_isThereForTheNextProgram_andDurableWithTheNextAppend() throws IOException {
        try (FileJournal journal = FileJournal.open(directory)) {
            journal.append("first", body(1));
            long before = journal.durableLength();
            assertThat(journal.write("second", body(2)).sequence()).isEqualTo(1);
            assertThat(journal.durableLength()).isEqualTo(before);
            assertThat(FileJournal.read(directory)).as("after a kill").hasSize(2);

            journal.append("third", body(3));
            assertThat(journal.durableLength()).isEqualTo(size(journal()));
        }
    }

    @Test
    void close_makesDurableWhatIsOnlyWritten() {
        AtomicInteger flushes = new AtomicInteger();
        FileJournal journal = FileJournal.open(directory);
        journal.write("first", body(1));
        FaultPoints.handler((name, times) -> flushes.addAndGet(name.equals("journal.flush") ? 1 : 0));
        journal.close();
        journal.close();
        assertThat(flushes).hasValue(1);
        assertThat(journal.durableLength()).isEqualTo(size(journal()));
        assertThat(FileJournal.read(directory)).hasSize(1);
    }

    @Test
    void interruptedCaller_stillAppendsAndKeepsItsFlag() {
        try (FileJournal journal = FileJournal.open(directory)) {
            Thread.currentThread().interrupt();
            journal.append("first", body(1));
            assertThat(Thread.interrupted()).isTrue();
            journal.append("second", body(2));
        }
        assertThat(FileJournal.read(directory)).hasSize(2);
    }

    @Test
    void fullDisk_refusesTheRecordAndKeepsTheRest() throws IOException {
        try (SmallDisk disk = SmallDisk.tmpfs(directory.resolve("disk"), 256)) {
            List<Long> accepted = new ArrayList<>();
            try (FileJournal journal = FileJournal.open(disk.root())) {
                Path filler = disk.root().resolve("filler");
                Files.write(filler, new byte[128 << 10]);
                CrabException refused = null;
                while (refused == null) {
                    try {
                        accepted.add(journal.append("one", large()).sequence());
                    } catch (CrabException e) {
                        refused = e;
                    }
                }
                assertThat(refused.code()).isEqualTo(ErrorCode.DISK_FULL);
                assertThat(accepted).isNotEmpty();
                assertThat(journal.isFailed()).isFalse();
                assertThat(disk.root().resolve("journal"))
                        .as("nothing is left of the refused record")
                        .hasSize(journal.durableLength());
                Files.delete(filler);
                accepted.add(journal.append("one", large()).sequence());
            }
            assertThat(FileJournal.read(disk.root()))
                    .extracting(JournalRecord::sequence)
                    .containsExactlyElementsOf(accepted);
        }
    }

    @Test
    void failedFlush_endsTheJournalUntilItIsOpenedAnew() throws IOException {
        try (SmallDisk disk = SmallDisk.failing(directory.resolve("disk"))) {
            int accepted = 0;
            try (FileJournal journal = FileJournal.open(disk.root())) {
                while (!journal.isFailed()) {
                    try {
                        journal.append("one", megabyte());
                        accepted++;
                    } catch (CrabException e) {
                        assertThat(e.code()).isIn(ErrorCode.IO_FAILED, ErrorCode.DISK_FULL);
                        assertThat(journal.isFailed()).as("%s", e.toString()).isTrue();
                    }
                    assertThat(accepted).as("the device has room for less").isLessThan(10);
                }
                assertThatThrownBy(() -> journal.append("one", body(1)))
                        .isInstanceOfSatisfying(CrabException.class, e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.IO_FAILED);
                            assertThat(e.why()).contains("an earlier flush");
                        });
            }
            assertThat(FileJournal.read(disk.root())).hasSize(accepted);
        }
    }

    @Test
    void recordBeyondTheBound_isRefused() {
        try (FileJournal journal = FileJournal.open(directory)) {
            ObjectNode huge = body(1).put("text", "x".repeat(StoreJson.MAX_BYTES));
            assertThatThrownBy(() -> journal.append("one", huge))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.LIMIT_EXCEEDED));
            journal.append("two", body(2));
        }
        assertThat(FileJournal.read(directory)).hasSize(1);
    }

    @Test
    void closedJournal_refuses() {
        FileJournal journal = FileJournal.open(directory);
        journal.close();
        journal.close();
        assertThatThrownBy(() -> journal.append("one", body(1))).isInstanceOf(CrabException.class);
    }

    private byte[] threeRecords() throws IOException {
        try (FileJournal journal = FileJournal.open(directory)) {
            for (int i = 1; i <= 3; i++) {
                journal.append("one", body(i));
            }
        }
        return Files.readAllBytes(journal());
    }

    private static void assertCorrupt(String what, Path named, ThrowingCallable opening) {
        assertThatThrownBy(opening).as(what).isInstanceOfSatisfying(CrabException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.JOURNAL_CORRUPT);
            assertThat(e.why()).startsWith(named + " at byte ");
        });
    }

    private Path journal() {
        return directory.resolve("journal");
    }

    private Path side() {
        return directory.resolve("journal.durable");
    }

    private static long size(Path file) {
        try {
            return Files.size(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ObjectNode body(int n) {
        return JsonNodeFactory.instance.objectNode().put("n", n);
    }

    private static ObjectNode large() {
        return body(0).put("text", "y".repeat(10_000));
    }

    private static ObjectNode megabyte() {
        return body(0).put("text", "z".repeat(1 << 20));
    }
}
