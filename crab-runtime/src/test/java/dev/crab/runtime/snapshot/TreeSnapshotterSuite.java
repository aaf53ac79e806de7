package dev.crab.runtime.snapshot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.FileTree;
import dev.crab.runtime.store.SmallDisk;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What snapshots by copies must do besides: they are not made in one step, and a crash or a full disk can come in between. */
abstract class TreeSnapshotterSuite extends SnapshotterSuite {
    private Path place;
    private SmallDisk disk;
    private Path data;
    private Snapshotter snapshotter;

    abstract SnapshotKind kind();

    /** A file system of 400 MiB. */
    abstract SmallDisk disk(Path at) throws IOException;

    @BeforeEach
    void open() throws IOException {
        place = Files.createTempDirectory(Path.of("/var/tmp"), "crab-trees-");
        disk = disk(place);
        data = disk.root().resolve("data");
        snapshotter = Snapshotters.open(data, kind());
    }

    @AfterEach
    void close() throws IOException {
        List<String> left = unfinished();
        Snapshotters.release(data);
        disk.close();
        try (Stream<Path> made = Files.list(place)) {
            for (Path file : made.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(place);
        assertThat(left).isEmpty();
    }

    @Override
    protected Snapshotter snapshotter() {
        return snapshotter;
    }

    private List<String> unfinished() throws IOException {
        try (Stream<Path> files = Files.list(data.resolve("trees/unfinished"))) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    /** Takes a snapshot in a process of its own, of a volume or of another snapshot. */
    static final class Victim {
        private Victim() {}

        public static void main(String[] args) {
            Snapshotter own = Snapshotters.open(Path.of(args[0]), SnapshotKind.valueOf(args[1]));
            if (args.length == 4) {
                own.snapshot(new Volume(args[2], Path.of("")), args[3]);
            } else {
                own.copy(own.find(args[2]), args[3]);
            }
        }
    }

    /** Kills a process in the middle of taking that snapshot. */
    private void killWhileTaking(Volume volume, String id) throws Exception {
        killWhileTaking(id, volume.id(), id);
    }

    private void killWhileTaking(String id, String... arguments) throws Exception {
        Path half = data.resolve("trees/unfinished/s-" + id + "/upper");
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                Victim.class.getName(),
                data.toString(),
                kind().name()));
        command.addAll(List.of(arguments));
        Process victim = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Awaitility.await().pollInterval(1, TimeUnit.MILLISECONDS).until(() -> Files.exists(half.resolve("d0")));
        assertThat(victim.destroyForcibly().waitFor()).isEqualTo(128 + 9);
        assertThat(unfinished()).containsExactly("s-" + id);
        assertThat(tree(half)).hasSizeLessThan(20_000);
    }

    @Test
    void snapshotThatAKillCutShort_isNoneAndGoesWithTheNextOpening() throws Exception {
        Volume volume = snapshotter.createVolume("v");
        manyFiles(volume, 20_000);
        killWhileTaking(volume, "s");
        assertThat(snapshotter.snapshots()).isEmpty();
        refused(ErrorCode.SNAPSHOT_MISSING, () -> snapshotter.find("s"));
        Snapshotters.open(data, kind());
        assertThat(unfinished()).isEmpty();
    }

    @Test
    void snapshotThatAKillCutShort_givesWayToOneOfItsNameAndToItsDeletion() throws Exception {
        Volume volume = snapshotter.createVolume("v");
        manyFiles(volume, 20_000);
        killWhileTaking(volume, "s");
        snapshotter.delete(new Snapshot("s", Path.of("")));
        assertThat(unfinished()).isEmpty();
        killWhileTaking(volume, "s");
        Snapshot snapshot = snapshotter.snapshot(volume, "s");
        assertThat(tree(snapshot.upper())).isEqualTo(tree(volume.upper()));
    }

    @Test
    void copyThatAKillCutShort_leavesNothingThatIsInTheWay() throws Exception {
        Volume volume = snapshotter.createVolume("v");
        manyFiles(volume, 20_000);
        Snapshot snapshot = snapshotter.snapshot(volume, "s");
        killWhileTaking("c", "s", "c", "copy");
        assertThat(snapshotter.snapshots()).containsExactly("s");
        assertThat(snapshotter.volumes()).containsExactly("v");
        Snapshot copy = snapshotter.copy(snapshot, "c");
        assertThat(tree(copy.upper())).isEqualTo(tree(snapshot.upper()));
    }

    @Test
    void opening_leavesWhatALivingOneIsMaking() throws Exception {
        Volume volume = snapshotter.createVolume("v");
        manyFiles(volume, 3000);
        Thread opener = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                Snapshotters.open(data, kind());
            }
        });
        opener.start();
        try {
            Snapshot snapshot = snapshotter.snapshot(volume, "s");
            assertThat(tree(snapshot.upper())).isEqualTo(tree(volume.upper()));
        } finally {
            opener.interrupt();
            opener.join();
        }
    }

    @Test
    void snapshot_forWhichThereIsNoRoomLeavesNothing() throws Exception {
        Volume volume = snapshotter.createVolume("v");
        manyFiles(volume, 1000);
        Path big = volume.upper().resolve("z-big");
        run("dd", "if=/dev/zero", "of=" + big, "bs=1M", "count=10", "status=none");
        Snapshot snapshot = snapshotter.snapshot(volume, "before");
        List<String> before = tree(snapshot.upper());
        fill(disk.root().resolve("ballast"));
        refused(ErrorCode.DISK_FULL, () -> {
            // Where blocks are shared a snapshot needs only a little, so that it takes some to find the end.
            for (int i = 0; i < 1000; i++) {
                snapshotter.snapshot(volume, "s" + i);
            }
            return "";
        });
        assertThat(unfinished()).isEmpty();
        assertThat(tree(snapshot.upper())).isEqualTo(before);
        Files.delete(disk.root().resolve("ballast"));
        Snapshot after = snapshotter.snapshot(volume, "after");
        snapshotter.makeDurable(after);
        assertThat(tree(after.upper())).isEqualTo(before);
    }

    /** Until nothing more can be written. */
    private static void fill(Path file) throws IOException, InterruptedException {
        int status = new ProcessBuilder("dd", "if=/dev/zero", "of=" + file, "bs=64k", "status=none")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
        assertThat(status).isEqualTo(1);
        run("sync", "-f", file.toString());
    }

    @Test
    void snapshot_thatIsNotWhatItWasMadeAsIsNone() throws IOException {
        Volume volume = snapshotter.createVolume("v");
        Path snapshots = data.resolve("trees/snapshots");
        for (String damage : List.of("gone", "cut", "flipped", "other", "upper", "boot", "link")) {
            snapshotter.makeDurable(snapshotter.snapshot(volume, damage));
            assertThat(snapshotter.find(damage).id()).isEqualTo(damage);
            Path directory = snapshots.resolve(damage);
            Path stamp = directory.resolve("complete");
            String text = Files.readString(stamp);
            switch (damage) {
                case "gone" -> Files.delete(stamp);
                case "cut" -> Files.writeString(stamp, text.substring(0, 20));
                case "flipped" -> Files.writeString(stamp, text.replace('1', '2'));
                case "other" -> {
                    snapshotter.delete(snapshotter.find(damage));
                    Files.move(
                            snapshotter.snapshot(volume, "x").directory().resolveSibling("../snapshots/x"), directory);
                }
                case "upper" -> Files.move(directory.resolve("upper"), directory.resolve("uppe"));
                case "link" -> {
                    Files.move(directory, snapshots.resolve("real"));
                    Files.createSymbolicLink(directory, Path.of("real"));
                }
                default -> Files.writeString(stamp, text.replace("durable", "00000000-0000-0000-0000-000000000000"));
            }
            refused(ErrorCode.SNAPSHOT_MISSING, () -> snapshotter.find(damage));
            refused(ErrorCode.SNAPSHOT_MISSING, () -> snapshotter.createVolume("c", new Snapshot(damage, place)));
            snapshotter.delete(new Snapshot(damage, Path.of("")));
            assertThat(snapshotter.snapshots()).doesNotContain(damage);
        }
    }

    @Test
    void snapshotBeforeItIsDurable_countsOnlyUnderTheKernelThatMadeIt() throws IOException {
        Volume volume = snapshotter.createVolume("v");
        Snapshot snapshot = snapshotter.snapshot(volume, "s");
        Path stamp = data.resolve("trees/snapshots/s/complete");
        String boot =
                Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        assertThat(stamp).content().contains("state " + boot);
        snapshotter.makeDurable(snapshot);
        assertThat(stamp).content().contains("state durable").doesNotContain(boot);
        assertThat(snapshotter.find("s")).isEqualTo(snapshot);
    }

    @Test
    void directories_areClosedToOthersAndWhatTheyHoldCannotRun() throws Exception {
        Volume volume = snapshotter.createVolume("v");
        Path tool = Files.writeString(volume.upper().resolve("tool"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(tool, PosixFilePermissions.fromString("rwxr-xr-x"));
        Snapshot snapshot = snapshotter.snapshot(volume, "s");
        for (Path directory : List.of(
                data.resolve("trees"),
                data.resolve("trees/sandboxes"),
                data.resolve("trees/snapshots"),
                data.resolve("trees/unfinished"),
                volume.directory(),
                snapshot.directory())) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
                    .isEqualTo("rwx------");
        }
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() ->
                        new ProcessBuilder(snapshot.upper().resolve("tool").toString()).start());
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> Files.delete(snapshot.upper().resolve("tool")))
                .withMessageContaining("Read-only");
    }

    @Test
    void snapshot_ofATreeNestedTooDeepIsRefusedAndLeavesNothing() throws Exception {
        Volume volume = snapshotter.createVolume("v");
        run(
                "python3",
                "-c",
                "import os, sys\nos.chdir(sys.argv[1])\nfor i in range(int(sys.argv[2])):\n    os.mkdir('d'); os.chdir('d')",
                volume.upper().toString(),
                Integer.toString(FileTree.MAX_DEPTH + 10));
        refused(ErrorCode.LIMIT_EXCEEDED, () -> snapshotter.snapshot(volume, "s"));
        assertThat(snapshotter.snapshots()).isEmpty();
    }

    @Test
    void open_deletesNothingThroughALink_andNothingThatIsNotCrabs() throws IOException {
        Path unfinished = data.resolve("trees/unfinished");
        Path stranger = Files.createDirectories(unfinished.resolve("Photos/of-1999"));
        Path file = Files.createFile(unfinished.resolve("s-file"));
        Snapshotters.open(data, kind());
        assertThat(stranger).isDirectory();
        assertThat(file).exists();
        Path other = data.resolve("other");
        Files.move(unfinished, other);
        Path theirs = Files.createDirectories(other.resolve("s-of-another"));
        Files.createSymbolicLink(unfinished, other);
        try {
            refused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> Snapshotters.open(data, kind()));
            assertThat(theirs).isDirectory();
        } finally {
            Files.delete(unfinished);
            Files.createDirectory(unfinished);
        }
    }

    @Test
    void strayFile_isNoSnapshot() throws IOException {
        Path stray = Files.createFile(data.resolve("trees/snapshots/s.g1"));
        Files.createFile(data.resolve("trees/snapshots/README"));
        assertThat(snapshotter.snapshots()).isEmpty();
        assertThat(stray).exists();
    }

    @ParameterizedTest
    @ValueSource(strings = {"trees/kind", "snapshots.lock"})
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void open_withAFifoInPlaceOfAFileIsRefused(String name) throws Exception {
        Path file = data.resolve(name);
        Path aside = data.resolve("aside");
        Files.move(file, aside);
        run("mkfifo", file.toString());
        try {
            refused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> Snapshotters.open(data, kind()));
        } finally {
            Files.move(aside, file, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
        }
    }

    @Test
    void open_findsAgainWhatWasStoredAfterARelease() throws IOException {
        Volume volume = snapshotter.createVolume("v");
        Files.writeString(volume.upper().resolve("file"), "kept");
        snapshotter.makeDurable(snapshotter.snapshot(volume, "s"));
        Snapshotters.release(data);
        Snapshotters.release(data);
        assertThat(data.resolve("trees/read")).isEmptyDirectory();
        for (SnapshotKind again : List.of(kind(), SnapshotKind.AUTO)) {
            Snapshotter opened = Snapshotters.open(data, again);
            assertThat(opened.provider()).isEqualTo(snapshotter.provider());
            assertThat(opened.find("s").upper().resolve("file")).hasContent("kept");
        }
    }

    @Test
    void open_byAnotherKindIsRefused() {
        for (SnapshotKind other : SnapshotKind.values()) {
            if (other != kind() && other != SnapshotKind.AUTO) {
                refused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> Snapshotters.open(data, other));
            }
        }
        refused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> BtrfsSnapshotter.open(data));
        assertThat(data.resolve("btrfs.img")).doesNotExist();
    }

    @Test
    void open_ofAKindFromTheFutureIsRefused() throws IOException {
        Path own = Files.createDirectories(disk.root().resolve("own/trees"));
        Files.writeString(own.resolve("kind"), "zfs\n");
        for (SnapshotKind any : SnapshotKind.values()) {
            refused(
                    ErrorCode.FORMAT_UNKNOWN,
                    () -> Snapshotters.open(disk.root().resolve("own"), any));
        }
    }

    static void refuses(ErrorCode code, Path where, SnapshotKind kind) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> Snapshotters.open(where, kind))
                .satisfies(e -> assertThat(e.code()).isEqualTo(code));
    }
}
