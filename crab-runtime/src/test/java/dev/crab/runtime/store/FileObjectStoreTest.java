package dev.crab.runtime.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileObjectStoreTest {
    @TempDir
    Path directory;

    private FileObjectStore store;

    @BeforeEach
    void open() {
        store = new FileObjectStore(new DataDirectory(directory).prepare());
    }

    @Test
    void written_isReadBackAndPrivate() throws IOException {
        byte[] content = new byte[300_000];
        new Random(42).nextBytes(content);
        ObjectRef ref = store.write("s.g1.dump", out -> {
            out.write(content[0]);
            out.write(content, 1, content.length - 1);
        });
        assertThat(ref).isEqualTo(new ObjectRef("s.g1.dump", content.length, Digests.sha256(content)));
        assertThat(read(ref)).isEqualTo(content);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(store.file("s.g1.dump"))))
                .isEqualTo("rw-------");
        store.verify(ref);
    }

    @Test
    void whatIsNotCrabs_isPassedOverAndLeft() throws IOException {
        store.write("s.g1.dump", out -> out.write(1));
        Path objects = DurableFiles.parent(DurableFiles.parent(store.file("s.g1.dump")));
        Path file = Files.createFile(objects.resolve("README"));
        Path misplaced =
                Files.createFile(Files.createDirectory(objects.resolve("s.g1")).resolve("s.g1.files"));
        Path odd = Files.createFile(store.file("s.g1.dump").resolveSibling("s.g1.READ ME"));
        assertThat(store.list("s.")).containsExactly("s.g1.dump");
        assertThat(List.of(file, misplaced, odd)).allMatch(Files::exists);
    }

    @Test
    void linkToTheObjectsOfAnother_isNoPlaceForObjects() throws IOException {
        ObjectRef ref = store.write("s.g1.dump", out -> out.write(1));
        Path shelf = DurableFiles.parent(store.file("s.g1.dump"));
        Path other = shelf.resolveSibling("elsewhere");
        Files.move(shelf, other);
        Files.createSymbolicLink(shelf, other);
        assertThat(store.list("s.")).isEmpty();
        assertCorrupt(() -> read(ref));
        store.delete("s.g1.dump");
        assertThat(other.resolve("s.g1.dump")).exists();
    }

    @Test
    void emptyObject_isAnObject() throws IOException {
        assertThat(read(store.write("empty", out -> {}))).isEmpty();
    }

    @Test
    void anyFlippedByte_isRefusedBeforeTheEndIsTold() throws IOException {
        byte[] content = "what a checkpoint holds".getBytes(StandardCharsets.US_ASCII);
        ObjectRef ref = store.write("s.g1.dump", out -> out.write(content));
        for (int i = 0; i < content.length; i++) {
            byte[] damaged = content.clone();
            damaged[i] ^= 2;
            Files.write(store.file("s.g1.dump"), damaged);
            assertCorrupt(() -> read(ref));
        }
    }

    @Test
    void otherLengthOrMissing_isRefusedAtOpening() throws IOException {
        byte[] content = "what a checkpoint holds".getBytes(StandardCharsets.US_ASCII);
        ObjectRef ref = store.write("s.g1.dump", out -> out.write(content));
        Files.write(store.file("s.g1.dump"), Arrays.copyOf(content, 5));
        assertCorrupt(() -> store.open(ref));
        Files.write(store.file("s.g1.dump"), Arrays.copyOf(content, content.length + 1));
        assertCorrupt(() -> store.open(ref));
        Files.delete(store.file("s.g1.dump"));
        assertCorrupt(() -> store.open(ref));
    }

    @Test
    void failingWriter_leavesTheOldContentAndNoTrace() throws IOException {
        ObjectRef ref = store.write("s.g1.dump", out -> out.write(7));
        assertThatThrownBy(() -> store.write("s.g1.dump", out -> {
                    out.write(new byte[100_000]);
                    throw new IOException("the source broke off");
                }))
                .isInstanceOf(CrabException.class);
        assertThat(read(ref)).containsExactly(7);
        assertThat(store.list("s.")).containsExactly("s.g1.dump");
    }

    @Test
    void fullDisk_leavesNoTrace() throws IOException {
        try (SmallDisk disk = SmallDisk.tmpfs(directory.resolve("disk"), 512)) {
            FileObjectStore full = new FileObjectStore(new DataDirectory(disk.root()).prepare());
            ObjectRef kept = full.write("s.g1.dump", out -> out.write(7));
            assertThatThrownBy(() -> full.write("s.g2.dump", out -> out.write(new byte[1 << 20])))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DISK_FULL));
            assertThat(full.list("")).containsExactly("s.g1.dump");
            full.verify(kept);
        }
    }

    @Test
    void remainsOfAnInterruptedWrite_areListedAndDeleted() throws IOException {
        store.write("s.g1.dump", out -> out.write(7));
        Path remains = store.file("s.g1.dump").resolveSibling("s.g1.dump" + DurableFiles.TEMPORARY);
        Files.write(remains, new byte[3]);
        assertThat(store.list("s.")).containsExactlyInAnyOrder("s.g1.dump", "s.g1.dump.tmp");
        store.delete("s.g1.dump.tmp");
        assertThat(remains).doesNotExist();
        assertThat(store.list("t.")).isEmpty();
    }

    private byte[] read(ObjectRef ref) throws IOException {
        try (InputStream in = store.open(ref)) {
            return in.readAllBytes();
        }
    }

    private static void assertCorrupt(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOfSatisfying(CrabException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.OBJECT_CORRUPT);
            assertThat(e.what()).contains("s.g1.dump");
        });
    }
}
