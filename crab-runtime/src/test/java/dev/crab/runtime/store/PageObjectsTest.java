package dev.crab.runtime.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.store.PageObjects.Packed;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ForkJoinPool;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageObjectsTest {
    private static final long LIMIT = 1L << 30;
    private static final int PAGE = 4096;

    @TempDir
    Path temporary;

    private FileObjectStore store;
    private PageObjects objects;
    private int counter;

    @BeforeEach
    void open() {
        store = new FileObjectStore(new DataDirectory(temporary.resolve("data")).prepare());
        objects = new PageObjects(store, ForkJoinPool.commonPool());
    }

    @Test
    void filesOfAllLengths_comeBack() throws IOException {
        Random random = new Random(1);
        Map<String, byte[]> files = new TreeMap<>();
        for (int length : List.of(0, 1, PAGE - 1, PAGE, PAGE + 1, 64 * PAGE, 64 * PAGE + 1, 200 * PAGE + 17)) {
            files.put("pages-" + length + ".img", bytes(random, length));
        }
        files.put("zeros.img", new byte[1000 * PAGE]);
        files.put("text.img", "x".repeat(100_000).getBytes(StandardCharsets.US_ASCII));

        Packed packed = pack("s.g1.dump", files, null);

        assertThat(packed.bases()).isEmpty();
        assertThat(unpack(packed)).containsExactlyEntriesOf(hashable(files));
        // A thousand pages of zeros are one page, and text is compressed.
        assertThat(packed.object().length()).isLessThan(1_600_000);
    }

    @Test
    void noFiles_comeBackAsNone() throws IOException {
        assertThat(unpack(pack("s.g1.dump", Map.of(), null))).isEmpty();
    }

    @Test
    void onePercentChanged_costsLessThanThreePercent() throws IOException {
        Random random = new Random(2);
        int pages = 8192;
        byte[] memory = bytes(random, pages * PAGE);
        Packed before = pack("s.g1.dump", Map.of("pages-1.img", memory), null);
        for (int generation = 2; generation < 30; generation++) {
            for (int i = 0; i < pages / 100; i++) {
                int page = random.nextInt(pages);
                System.arraycopy(bytes(random, PAGE), 0, memory, page * PAGE, PAGE);
            }
            Packed after = pack("s.g" + generation + ".dump", Map.of("pages-1.img", memory), before);
            assertThat(after.bases().size()).isBetween(1, 16);
            assertThat(unpack(after)).containsExactlyEntriesOf(hashable(Map.of("pages-1.img", memory)));
            if (generation < 16) {
                assertThat(after.object().length()).isLessThan(memory.length * 3L / 100);
            }
            before = after;
        }
    }

    @Test
    void unchanged_costsNextToNothing_whereverThePagesStandNow() throws IOException {
        byte[] memory = bytes(new Random(3), 500 * PAGE);
        Packed first = pack("s.g1.dump", Map.of("pages-1.img", memory, "pages-2.img", memory), null);
        byte[] turned = new byte[memory.length];
        for (int page = 0; page < 500; page++) {
            System.arraycopy(memory, page * PAGE, turned, (499 - page) * PAGE, PAGE);
        }
        Packed second = pack("s.g2.dump", Map.of("pages-7.img", turned), first);
        assertThat(second.object().length()).isLessThan(8_000);
        assertThat(second.bases()).containsExactly(first.object());
        assertThat(unpack(second)).containsExactlyEntriesOf(hashable(Map.of("pages-7.img", turned)));
    }

    @Test
    void littleInCommon_isWrittenAgainSoThatTheOldObjectCanGo() throws IOException {
        byte[] memory = bytes(new Random(4), 1000 * PAGE);
        Packed first = pack("s.g1.dump", Map.of("pages-1.img", memory), null);
        Packed second = pack("s.g2.dump", Map.of("pages-1.img", Arrays.copyOf(memory, 100 * PAGE)), first);
        assertThat(second.bases()).isEmpty();
        store.delete(first.object().name());
        assertThat(unpack(second)).hasSize(1);
    }

    @Test
    void pagesOfAnotherOwner_areLinkedAndOutliveIt() throws IOException {
        byte[] memory = bytes(new Random(5), 1000 * PAGE);
        Packed theirs = pack("other.g1.dump", Map.of("pages-1.img", memory), null);
        PageObjects afterRestart = new PageObjects(store, ForkJoinPool.commonPool());
        Packed ours =
                afterRestart.pack("s.g1.dump", write(Map.of("pages-9.img", memory)), null, List.of(theirs.object()));
        assertThat(ours.object().length()).isLessThan(1000);
        assertThat(ours.bases()).extracting(ObjectRef::name).containsExactly("s.g1.dump.base0");

        store.delete(theirs.object().name());

        assertThat(unpack(ours)).containsExactlyEntriesOf(hashable(Map.of("pages-9.img", memory)));
        // And the next one uses the link, not a link of the link.
        Packed next = afterRestart.pack("s.g2.dump", write(Map.of("pages-9.img", memory)), ours, List.of());
        assertThat(next.bases()).extracting(ObjectRef::name).containsExactly("s.g1.dump.base0");
    }

    @Test
    void pagesOfAnotherOwnerThatAreGone_areWrittenAgain() throws IOException {
        byte[] memory = bytes(new Random(6), 1000 * PAGE);
        Packed theirs = pack("other.g1.dump", Map.of("pages-1.img", memory), null);
        store.delete(theirs.object().name());
        Packed ours = pack("s.g1.dump", Map.of("pages-1.img", memory), null);
        assertThat(ours.bases()).isEmpty();
        assertThat(unpack(ours)).containsExactlyEntriesOf(hashable(Map.of("pages-1.img", memory)));
    }

    @Test
    void nameOfAnotherOwnerThatNowHoldsSomethingElse_isNotUsed() throws IOException {
        byte[] memory = bytes(new Random(7), 1000 * PAGE);
        byte[] other = bytes(new Random(8), 1000 * PAGE);
        Packed theirs = pack("other.g1.dump", Map.of("pages-1.img", memory), null);
        Packed replaced = new PageObjects(store, ForkJoinPool.commonPool())
                .pack("other.g1.dump", write(Map.of("pages-1.img", other)), null, List.of());
        assertThat(replaced.object().length()).isEqualTo(theirs.object().length());
        Packed ours = pack("s.g1.dump", Map.of("pages-1.img", memory), null);
        assertThat(ours.bases()).isEmpty();
        assertThat(unpack(ours)).containsExactlyEntriesOf(hashable(Map.of("pages-1.img", memory)));
    }

    @Test
    void everyFlippedByte_isFound() throws IOException {
        Random random = new Random(9);
        byte[] memory = bytes(random, 130 * PAGE);
        Packed first = pack("s.g1.dump", Map.of("pages-1.img", memory), null);
        memory[70 * PAGE]++;
        Packed second = pack("s.g2.dump", Map.of("pages-1.img", memory, "core-1.img", bytes(random, 700)), first);
        for (int i = 0; i < 200; i++) {
            flip(second.object(), random.nextLong(second.object().length()), () -> refused(second));
        }
        // Of a base only what is read of it matters: the blocks, the lengths of blocks, the footer.
        long blocks = 130 * PAGE;
        for (int i = 0; i < 200; i++) {
            long offset = 200 + random.nextLong(blocks - 200);
            flip(first.object(), offset, () -> refused(second));
        }
        for (int back = 1; back <= PageFormat.FOOTER + 12; back++) {
            flip(first.object(), first.object().length() - back, () -> refused(second));
        }
        assertThat(unpack(second)).hasSize(2);
    }

    @Test
    void missingOrTruncatedBase_isRefused() throws IOException {
        byte[] memory = bytes(new Random(10), 200 * PAGE);
        Packed first = pack("s.g1.dump", Map.of("pages-1.img", memory), null);
        Packed second = pack("s.g2.dump", Map.of("pages-1.img", memory), first);
        assertThat(second.bases()).hasSize(1);
        Path file = store.file(first.object().name());
        byte[] content = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(content, content.length / 2));
        refused(second);
        Files.delete(file);
        refused(second);
        // A dump that is to come does without what it cannot read.
        Packed third = new PageObjects(store, ForkJoinPool.commonPool())
                .pack("s.g3.dump", write(Map.of("pages-1.img", memory)), second, List.of());
        assertThat(third.bases()).doesNotContain(first.object());
        assertThat(unpack(third)).containsExactlyEntriesOf(hashable(Map.of("pages-1.img", memory)));
    }

    @Test
    void otherBasesThanTheManifest_areRefused() throws IOException {
        byte[] memory = bytes(new Random(11), 200 * PAGE);
        Packed first = pack("s.g1.dump", Map.of("pages-1.img", memory), null);
        Packed second = pack("s.g2.dump", Map.of("pages-1.img", memory), first);
        refused(new Packed(second.object(), List.of()));
    }

    @Test
    void moreThanTheLimit_isRefusedBeforeItIsWritten() throws IOException {
        Packed packed = pack("s.g1.dump", Map.of("pages-1.img", new byte[100 * PAGE]), null);
        Path directory = Files.createDirectory(temporary.resolve("small"));
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> objects.unpack(packed, directory, 100 * PAGE - 1))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.OBJECT_CORRUPT));
        try (Stream<Path> left = Files.list(directory)) {
            assertThat(left).isEmpty();
        }
    }

    private Packed pack(String name, Map<String, byte[]> files, @Nullable Packed earlier) throws IOException {
        return objects.pack(name, write(files), earlier, List.of());
    }

    private List<Path> write(Map<String, byte[]> files) throws IOException {
        Path directory = Files.createDirectory(temporary.resolve("in" + counter++));
        List<Path> paths = new ArrayList<>();
        for (Map.Entry<String, byte[]> file : new TreeMap<>(files).entrySet()) {
            paths.add(Files.write(directory.resolve(file.getKey()), file.getValue()));
        }
        return paths;
    }

    private Map<String, String> unpack(Packed packed) throws IOException {
        Path directory = Files.createDirectory(temporary.resolve("out" + counter++));
        objects.unpack(packed, directory, LIMIT);
        Map<String, byte[]> files = new TreeMap<>();
        try (Stream<Path> listed = Files.list(directory)) {
            for (Path file : listed.toList()) {
                files.put(file.getFileName().toString(), Files.readAllBytes(file));
            }
        }
        return hashable(files);
    }

    private void refused(Packed packed) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> unpack(packed))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.OBJECT_CORRUPT));
    }

    private void flip(ObjectRef ref, long offset, Runnable check) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(store.file(ref.name()).toFile(), "rw")) {
            file.seek(offset);
            int was = file.read();
            file.seek(offset);
            file.write(was ^ 1 << (offset % 8));
            check.run();
            file.seek(offset);
            file.write(was);
        }
    }

    private static Map<String, String> hashable(Map<String, byte[]> files) {
        Map<String, String> digests = new TreeMap<>();
        files.forEach((name, content) -> digests.put(name, content.length + " " + Digests.sha256(content)));
        return digests;
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }
}
