package dev.crab.runtime.snapshot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.FileTree;
import dev.crab.runtime.os.Filesystems;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What every {@link Snapshotter} must do. A provider's test extends it. */
public abstract class SnapshotterSuite {
    /** The snapshotter under test; the same for all tests of a class. */
    protected abstract Snapshotter snapshotter();

    /** A name that no test of this run has used. */
    private String name() {
        return "t" + Long.toString(System.nanoTime(), 36);
    }

    @Test
    void newVolume_isEmpty() throws IOException {
        Volume volume = snapshotter().createVolume(name());
        assertThat(tree(volume.upper())).hasSize(1);
        assertThat(tree(volume.work())).hasSize(1);
        assertThat(snapshotter().volumes()).contains(volume.id());
        snapshotter().delete(volume);
        assertThat(snapshotter().volumes()).doesNotContain(volume.id());
    }

    @Test
    void snapshot_holdsEveryKindOfEntryExactly() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        everyKindOfEntry(volume.upper());
        List<String> before = tree(volume.upper());
        assertThat(before).hasSizeGreaterThan(15);

        Snapshot snapshot = snapshotter().snapshot(volume, name());
        snapshotter().makeDurable(snapshot);
        assertThat(tree(snapshot.upper())).isEqualTo(before);

        Volume copy = snapshotter().createVolume(name(), snapshot);
        assertThat(tree(copy.upper())).isEqualTo(before);
        delete(snapshot, volume, copy);
    }

    @Test
    void snapshot_holdsWhiteoutsAndOpaqueDirectoriesOfAnOverlay(@TempDir Path mountPoint, @TempDir Path lower)
            throws Exception {
        Files.createDirectories(lower.resolve("dir/sub"));
        Files.writeString(lower.resolve("dir/file"), "below");
        Files.writeString(lower.resolve("gone"), "below");
        Files.writeString(lower.resolve("changed"), "below");
        Volume volume = snapshotter().createVolume(name());
        try (Overlay overlay = new Overlay(lower, volume, mountPoint)) {
            Files.delete(overlay.root().resolve("gone"));
            Files.writeString(overlay.root().resolve("changed"), "above");
            Files.delete(overlay.root().resolve("dir/file"));
            Files.delete(overlay.root().resolve("dir/sub"));
            Files.delete(overlay.root().resolve("dir"));
            Files.createDirectory(overlay.root().resolve("dir"));
        }
        List<String> before = tree(volume.upper());
        assertThat(before).anyMatch(line -> line.startsWith("c /gone "));
        assertThat(before).anyMatch(line -> line.startsWith("d /dir ") && line.contains("trusted.overlay.opaque"));

        Snapshot snapshot = snapshotter().snapshot(volume, name());
        Volume copy = snapshotter().createVolume(name(), snapshot);
        assertThat(tree(copy.upper())).isEqualTo(before);
        try (Overlay overlay = new Overlay(lower, copy, mountPoint)) {
            assertThat(overlay.root().resolve("gone")).doesNotExist();
            assertThat(overlay.root().resolve("dir")).isEmptyDirectory();
            assertThat(overlay.root().resolve("changed")).hasContent("above");
        }
        delete(snapshot, volume, copy);
    }

    @Test
    void snapshot_holdsWhatWasNotFlushed() throws IOException {
        Volume volume = snapshotter().createVolume(name());
        byte[] bytes = new byte[3 << 20];
        bytes[bytes.length - 1] = 7;
        Files.write(volume.upper().resolve("dirty"), bytes);
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        assertThat(Files.readAllBytes(snapshot.upper().resolve("dirty"))).isEqualTo(bytes);
        delete(snapshot, volume);
    }

    @Test
    void snapshot_staysAsItWasWhateverTheVolumeDoes() throws IOException {
        Volume volume = snapshotter().createVolume(name());
        for (int i = 0; i < 500; i++) {
            Files.writeString(volume.upper().resolve("file" + i), "content " + i);
        }
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        List<String> before = tree(snapshot.upper());
        for (int i = 0; i < 500; i += 2) {
            Files.delete(volume.upper().resolve("file" + i));
            Files.writeString(volume.upper().resolve("file" + (i + 1)), "changed");
        }
        Files.writeString(volume.upper().resolve("new"), "new");
        assertThat(tree(snapshot.upper())).isEqualTo(before);

        Volume copy = snapshotter().createVolume(name(), snapshot);
        assertThat(copy.upper().resolve("new")).doesNotExist();
        assertThat(copy.upper().resolve("file0")).hasContent("content 0");
        Files.delete(copy.upper().resolve("file0"));
        assertThat(tree(snapshot.upper())).isEqualTo(before);
        delete(snapshot, volume, copy);
    }

    @Test
    void snapshot_keepsTimesOfFilesThroughACopy() throws IOException {
        Volume volume = snapshotter().createVolume(name());
        Path file = Files.writeString(volume.upper().resolve("old"), "x");
        Files.setLastModifiedTime(file, FileTime.from(Instant.parse("2001-02-03T04:05:06.123456789Z")));
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        Volume copy = snapshotter().createVolume(name(), snapshot);
        assertThat(Files.getLastModifiedTime(copy.upper().resolve("old")).toInstant())
                .isEqualTo(Instant.parse("2001-02-03T04:05:06.123456789Z"));
        delete(snapshot, volume, copy);
    }

    @Test
    void snapshot_cannotBeWritten() throws IOException {
        Volume volume = snapshotter().createVolume(name());
        Files.writeString(volume.upper().resolve("file"), "x");
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> Files.writeString(snapshot.upper().resolve("file"), "y"));
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> Files.createFile(snapshot.upper().resolve("other")));
        delete(snapshot, volume);
    }

    @Test
    void find_tellsWhatIsThereFromWhatIsNot() {
        Volume volume = snapshotter().createVolume(name());
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        assertThat(snapshotter().find(snapshot.id())).isEqualTo(snapshot);
        assertThat(snapshotter().snapshots()).contains(snapshot.id());
        snapshotter().delete(snapshot);
        assertThat(snapshotter().snapshots()).doesNotContain(snapshot.id());
        refused(ErrorCode.SNAPSHOT_MISSING, () -> snapshotter().find(snapshot.id()));
        refused(ErrorCode.SNAPSHOT_MISSING, () -> snapshotter().createVolume(name(), snapshot));
        refused(ErrorCode.SNAPSHOT_MISSING, () -> {
            snapshotter().makeDurable(snapshot);
            return "";
        });
        snapshotter().delete(volume);
    }

    @Test
    void snapshot_outlivesItsVolume() throws IOException {
        Volume volume = snapshotter().createVolume(name());
        Files.writeString(volume.upper().resolve("file"), "kept");
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        snapshotter().delete(volume);
        assertThat(snapshot.upper().resolve("file")).hasContent("kept");
        snapshotter().delete(snapshot);
    }

    @Test
    void delete_twiceIsOnce() {
        Volume volume = snapshotter().createVolume(name());
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        delete(snapshot, volume);
        delete(snapshot, volume);
    }

    @Test
    void names_thatAreTakenOrImpossibleAreRefused() {
        Volume volume = snapshotter().createVolume(name());
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        refused(ErrorCode.NAME_TAKEN, () -> snapshotter().createVolume(volume.id()));
        refused(ErrorCode.NAME_TAKEN, () -> snapshotter().createVolume(volume.id(), snapshot));
        refused(ErrorCode.NAME_TAKEN, () -> snapshotter().snapshot(volume, snapshot.id()));
        for (String bad : List.of("", ".", "..", "a/b", "../x", "A", "x".repeat(122))) {
            refused(ErrorCode.NAME_INVALID, () -> snapshotter().createVolume(bad));
            refused(ErrorCode.NAME_INVALID, () -> snapshotter().snapshot(volume, bad));
            refused(ErrorCode.NAME_INVALID, () -> snapshotter().find(bad));
        }
        delete(snapshot, volume);
    }

    @Test
    void snapshots_ofManyVolumesSideBySide() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<List<String>>> results = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                String own = "own " + i;
                results.add(threads.submit(() -> {
                    Volume volume = snapshotter().createVolume(name());
                    Files.writeString(volume.upper().resolve("file"), own);
                    Snapshot snapshot = snapshotter().snapshot(volume, name());
                    String found = Files.readString(snapshot.upper().resolve("file"));
                    delete(snapshot, volume);
                    return List.of(own, found);
                }));
            }
            for (Future<List<String>> result : results) {
                assertThat(result.get().get(1)).isEqualTo(result.get().get(0));
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private void delete(Snapshot snapshot, Volume... volumes) {
        for (Volume volume : volumes) {
            snapshotter().delete(volume);
        }
        snapshotter().delete(snapshot);
    }

    private static void refused(ErrorCode code, Callable<?> call) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(call::call)
                .satisfies(e -> assertThat(e.code()).isEqualTo(code));
    }

    private static void everyKindOfEntry(Path upper) throws Exception {
        Path file = Files.writeString(upper.resolve("file"), "content");
        Files.createLink(upper.resolve("hard link"), file);
        Files.createDirectories(upper.resolve("a/b/c"));
        Files.createLink(upper.resolve("a/b/hard link"), file);
        Files.createSymbolicLink(upper.resolve("link"), Path.of("/etc/passwd"));
        Files.createSymbolicLink(upper.resolve("dangling"), Path.of("no\nwhere"));
        Files.writeString(upper.resolve("new\nline \\ and ü"), "odd");
        Files.writeString(upper.resolve("empty"), "");
        Files.getFileAttributeView(file, UserDefinedFileAttributeView.class)
                .write("note", StandardCharsets.UTF_8.encode("value"));
        try (FileChannel sparse =
                FileChannel.open(upper.resolve("sparse"), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            sparse.write(ByteBuffer.wrap(new byte[] {1, 2, 3}), 1L << 32);
        }
        Files.setAttribute(file, "unix:mode", 04751);
        Files.setAttribute(upper.resolve("a/b"), "unix:mode", 01777);
        Files.setAttribute(upper.resolve("empty"), "unix:uid", 1234);
        run("mkfifo", upper.resolve("fifo").toString());
        run("mknod", upper.resolve("null").toString(), "c", "1", "3");
        try (var server = java.nio.channels.ServerSocketChannel.open(java.net.StandardProtocolFamily.UNIX)) {
            server.bind(java.net.UnixDomainSocketAddress.of(upper.resolve("socket")));
        }
        // A name that is not valid in any encoding: only a tool can make it.
        run("/bin/bash", "-c", "cd \"$0\" && echo odd > $'bad\\xff\\xfename'", upper.toString());
    }

    private static void run(String... command) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
    }

    /** One line for each entry with everything that has to be the same. */
    private static List<String> tree(Path root) throws IOException {
        List<String> lines = new ArrayList<>();
        FileTree.walk(root, e -> {
            StringBuilder line = new StringBuilder();
            line.append(e.type().letter()).append(' ').append(new String(e.path(), StandardCharsets.ISO_8859_1));
            line.append(' ').append(Integer.toOctalString(e.permissions())).append(' ');
            line.append(e.uid()).append(':').append(e.gid()).append(' ');
            line.append(e.deviceMajor()).append(',').append(e.deviceMinor()).append(' ');
            line.append(e.modifiedSeconds()).append('.').append(e.modifiedNanos());
            line.append(" i").append(e.inode()).append('*').append(e.links()).append(" -> ");
            line.append(new String(e.target(), StandardCharsets.ISO_8859_1));
            e.attributes()
                    .forEach((name, value) -> line.append(' ')
                            .append(name)
                            .append('=')
                            .append(HexFormat.of().formatHex(value)));
            if (e.type() == FileTree.Entry.Type.FILE) {
                line.append(' ').append(e.size()).append(' ').append(e.sha256());
            }
            lines.add(line.toString());
        });
        return lines;
    }

    /** An overlay over a volume, as a sandbox has one. */
    private record Overlay(Path lower, Volume volume, Path root) implements AutoCloseable {
        Overlay {
            try {
                run(
                        "mount",
                        "-t",
                        "overlay",
                        "crab-test",
                        "-o",
                        "lowerdir=" + lower + ",upperdir=" + volume.upper() + ",workdir=" + volume.work(),
                        root.toString());
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void close() throws IOException {
            Filesystems.unmount(root);
        }
    }
}
