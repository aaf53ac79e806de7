package dev.crab.runtime.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.FileObjectStore;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileTableTest {
    @TempDir
    private Path directory;

    private FileObjectStore objects;
    private Path tree;
    private int generation;

    @BeforeEach
    void prepare() throws IOException {
        objects = new FileObjectStore(new DataDirectory(directory.resolve("data")).prepare());
        tree = Files.createDirectory(directory.resolve("tree"));
    }

    private FileImage write(@Nullable FileImage earlier) {
        generation++;
        String snapshot = "s.g" + generation;
        FileTable.Written written = FileTable.write(
                objects, snapshot + ".files", tree, Instant.now().plusSeconds(5), earlier);
        return new FileImage(generation, snapshot, written.ref(), written.bases(), written.entries());
    }

    private void file(String name, String content) throws IOException {
        Path path = tree.resolve(name);
        Files.createDirectories(path.getParent());
        Files.writeString(path, content);
    }

    private void many(String name, int count) throws IOException {
        for (int i = 0; i < count; i++) {
            file(name + "/" + i, name + i);
        }
    }

    private void holds(FileImage image) {
        assertThat(FileTable.verify(objects, image, tree)).isEqualTo(image.entries());
    }

    private void misses(FileImage image, String... what) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> FileTable.verify(objects, image, tree))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.RESTORE_MISMATCH))
                .satisfies(e -> assertThat(e.why()).contains(what));
    }

    @Test
    void changes_areAllThatIsWritten() throws IOException {
        many("d", 1000);
        FileImage first = write(null);
        file("d/7", "other");
        Files.delete(tree.resolve("d/8"));
        file("d/new/er", "x");
        FileImage second = write(first);
        assertThat(second.bases()).containsExactly(first.fileTable());
        assertThat(second.fileTable().length()).isLessThan(first.fileTable().length() / 20);
        assertThat(second.entries()).isEqualTo(1003);
        holds(second);
        misses(first, "/d/7 differs", "/d/8 is missing", "/d/new is extra");
    }

    @Test
    void nothing_isNearlyNothing() throws IOException {
        many("d", 1000);
        FileImage first = write(null);
        FileImage second = write(first);
        assertThat(second.fileTable().length()).isLessThan(200);
        holds(second);
    }

    @Test
    void everythingOther_isAWholeTable() throws IOException {
        many("d", 300);
        FileImage first = write(null);
        try (Stream<Path> all = Files.list(tree.resolve("d"))) {
            for (Path path : all.toList()) {
                Files.writeString(path, "other " + path);
            }
        }
        FileImage second = write(first);
        assertThat(second.bases()).isEmpty();
        holds(second);
    }

    /** A sandbox must not fill this program's memory by the number of its files. */
    @Test
    void moreChangesThanMayBeHeld_areAWholeTable() throws IOException {
        many("d", 300);
        FileImage first = write(null);
        many("e", 100);
        FileTable.Written held =
                FileTable.write(objects, "s.g8.files", tree, Instant.now().plusSeconds(5), first, 1 << 20);
        assertThat(held.bases()).hasSize(1);
        FileTable.Written whole =
                FileTable.write(objects, "s.g9.files", tree, Instant.now().plusSeconds(5), first, 1000);
        assertThat(whole.bases()).isEmpty();
        holds(new FileImage(9, "s.g9", whole.ref(), whole.bases(), whole.entries()));
    }

    /** Any order of changes, and each table in between still tells its own state. */
    @Test
    void tables_areFewAndHoldWhatTheTreeHeld() throws IOException {
        Random random = new Random(5);
        many("d", 500);
        FileImage image = write(null);
        long longest = 0;
        long written = 0;
        for (int turn = 0; turn < 30; turn++) {
            int changes = 1 + random.nextInt(turn % 10 == 9 ? 200 : 5);
            for (int i = 0; i < changes; i++) {
                String name = "d" + random.nextInt(3) + "/" + random.nextInt(400);
                if (random.nextInt(3) == 0) {
                    Files.deleteIfExists(tree.resolve(name));
                } else {
                    file(name, "turn " + turn);
                }
            }
            file("turn", "turn " + turn);
            FileImage before = image;
            image = write(before);
            holds(image);
            misses(before, "/");
            longest = Math.max(longest, image.tables().size());
            written += image.fileTable().length();
        }
        assertThat(longest).isBetween(2L, 7L);
        FileImage whole = write(null);
        assertThat(written).isLessThan(30 * whole.fileTable().length() / 3);
    }

    /** In a copy each file has got another inode and another time of change. */
    @Test
    void copy_needsNotBeDescribedAnew() throws Exception {
        many("d", 1000);
        Files.createLink(tree.resolve("d/linked"), tree.resolve("d/1"));
        FileImage first = write(null);
        Path copy = directory.resolve("copy");
        assertThat(new ProcessBuilder("cp", "-a", tree.toString(), copy.toString())
                        .start()
                        .waitFor())
                .isZero();
        tree = copy;
        file("d/7", "other");
        FileImage second = write(first);
        assertThat(second.bases()).containsExactly(first.fileTable());
        assertThat(second.fileTable().length()).isLessThan(first.fileTable().length() / 20);
        holds(second);
        Files.delete(tree.resolve("d/linked"));
        Files.copy(tree.resolve("d/1"), tree.resolve("d/linked"));
        misses(second, "/d/linked differs", "/d/1 differs");
    }

    @Test
    void contentWhoseTimesWerePutBack_isSeen() throws IOException {
        many("d", 50);
        FileImage first = write(null);
        FileTime time = Files.getLastModifiedTime(tree.resolve("d/7"));
        Files.writeString(tree.resolve("d/7"), "D7");
        Files.setLastModifiedTime(tree.resolve("d/7"), time);
        FileImage second = write(first);
        holds(second);
        misses(first, "/d/7 differs: its content differs");
    }

    @Test
    void damagedTable_refusesAtARestoreAndIsReplacedAtAWrite() throws IOException {
        many("d", 200);
        FileImage first = write(null);
        file("d/7", "other");
        FileImage second = write(first);
        assertThat(second.bases()).hasSize(1);
        flip(first);
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> FileTable.verify(objects, second, tree))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.OBJECT_CORRUPT));
        FileImage third = write(second);
        assertThat(third.bases()).isEmpty();
        holds(third);
    }

    @Test
    void tablesThatDoNotBelongTogether_areRefused() throws IOException {
        many("d", 200);
        FileImage first = write(null);
        file("d/7", "other");
        FileImage second = write(first);
        for (FileImage wrong : List.of(
                new FileImage(2, "s.g2", second.fileTable(), List.of(), second.entries()),
                new FileImage(2, "s.g2", first.fileTable(), List.of(first.fileTable()), second.entries()),
                new FileImage(2, "s.g2", second.fileTable(), second.bases(), second.entries() + 1))) {
            assertThatExceptionOfType(CrabException.class)
                    .isThrownBy(() -> FileTable.verify(objects, wrong, tree))
                    .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.OBJECT_CORRUPT));
        }
    }

    private void flip(FileImage image) throws IOException {
        byte[] content;
        try (InputStream in = objects.open(image.fileTable())) {
            content = in.readAllBytes();
        }
        content[content.length / 2] ^= 1;
        try (Stream<Path> files = Files.walk(directory.resolve("data"))) {
            Path file = files.filter(path -> path.endsWith(image.fileTable().name()))
                    .findFirst()
                    .orElseThrow();
            try (OutputStream out = Files.newOutputStream(file, StandardOpenOption.TRUNCATE_EXISTING)) {
                out.write(content);
            }
        }
    }
}
