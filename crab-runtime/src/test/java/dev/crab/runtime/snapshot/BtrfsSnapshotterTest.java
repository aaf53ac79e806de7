package dev.crab.runtime.snapshot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Btrfs;
import dev.crab.runtime.os.Filesystems;
import dev.crab.runtime.store.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BtrfsSnapshotterTest extends SnapshotterSuite {
    private static final long SIZE = 512L << 20;
    private static TestDataDirectory data;
    private static BtrfsSnapshotter snapshotter;

    @BeforeAll
    static void open() throws IOException {
        data = new TestDataDirectory();
        snapshotter = BtrfsSnapshotter.open(data.path(), SIZE);
    }

    @AfterAll
    static void close() throws IOException {
        snapshotter.close();
        data.close();
    }

    @Override
    protected Snapshotter snapshotter() {
        return snapshotter;
    }

    @Test
    void directories_areClosedToOthers() throws IOException {
        Volume volume = snapshotter.createVolume("private");
        for (Path directory : List.of(
                data.path().resolve("btrfs"),
                data.path().resolve("btrfs/sandboxes"),
                data.path().resolve("btrfs/snapshots"),
                volume.directory())) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
                    .isEqualTo("rwx------");
        }
        snapshotter.delete(volume);
    }

    @Test
    void scratchThatACrashLeft_goesWithItsVolume() throws IOException {
        Volume volume = snapshotter.createVolume("s.1");
        Volume other = snapshotter.createVolume("s.11");
        Btrfs.snapshot(volume.directory(), data.path().resolve("btrfs/sandboxes"), "s.1.scratch", true);
        Btrfs.snapshot(other.directory(), data.path().resolve("btrfs/sandboxes"), "s.11.scratch", true);
        snapshotter.delete(volume);
        assertThat(snapshotter.volumes()).doesNotContain("s.1", "s.1.scratch").contains("s.11", "s.11.scratch");
        // the volume itself may be gone already
        snapshotter.delete(other);
        Btrfs.snapshot(data.path().resolve("btrfs"), data.path().resolve("btrfs/sandboxes"), "s.11.scratch", true);
        snapshotter.delete(other);
        assertThat(snapshotter.volumes()).doesNotContain("s.11", "s.11.scratch");
    }

    @Test
    void open_findsAgainWhatWasStoredAfterARelease() throws IOException {
        Path place;
        try (TestDataDirectory own = new TestDataDirectory()) {
            place = own.path();
            BtrfsSnapshotter first = BtrfsSnapshotter.open(own.path(), SIZE);
            Volume volume = first.createVolume("v");
            Files.writeString(volume.upper().resolve("file"), "kept");
            Snapshot snapshot = first.snapshot(volume, "s");
            first.makeDurable(snapshot);
            Snapshotters.release(own.path());
            assertThat(own.path().resolve("btrfs")).isEmptyDirectory();
            Snapshotters.release(own.path());

            BtrfsSnapshotter again = BtrfsSnapshotter.open(own.path(), SIZE);
            assertThat(again.find("s").upper().resolve("file")).hasContent("kept");
        }
        assertThat(loopDevices()).noneMatch(line -> line.contains(place.toString()));
    }

    @Test
    void open_fromManyThreadsMountsOnce() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try (TestDataDirectory own = new TestDataDirectory()) {
            List<Future<?>> opened = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                String name = "v" + i;
                opened.add(threads.submit(
                        () -> BtrfsSnapshotter.open(own.path(), SIZE).createVolume(name)));
            }
            for (Future<?> future : opened) {
                future.get();
            }
            assertThat(BtrfsSnapshotter.open(own.path(), SIZE).volumes()).hasSize(4);
            assertThat(Files.readAllLines(Path.of("/proc/self/mountinfo")))
                    .filteredOn(line -> line.contains(own.path().toString()))
                    .hasSize(1);
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void open_whereNothingCanBeWrittenIsRefused(@TempDir Path directory) throws Exception {
        run("mount", "-t", "tmpfs", "-o", "ro", "crab-test", directory.toString());
        try {
            refused(ErrorCode.DATA_DIRECTORY_UNUSABLE, directory.resolve("data"));
            refused(ErrorCode.DATA_DIRECTORY_UNUSABLE, directory);
        } finally {
            SmallDisk.unmount(directory);
        }
        refused(ErrorCode.DATA_DIRECTORY_UNUSABLE, Files.createFile(directory.resolve("file")));
    }

    @Test
    void open_whereNoRoomIsLeftIsRefused(@TempDir Path directory) throws Exception {
        run("mount", "-t", "tmpfs", "-o", "size=100m", "crab-test", directory.toString());
        try {
            refused(ErrorCode.DISK_FULL, directory.resolve("data"));
            assertThat(directory.resolve("data/btrfs.img")).doesNotExist();
            assertThat(directory.resolve("data/btrfs.img.new")).doesNotExist();
        } finally {
            SmallDisk.unmount(directory);
        }
    }

    @Test
    void snapshot_isRefusedBeforeTheDiskBelowIsFull(@TempDir Path directory) throws Exception {
        run("mount", "-t", "tmpfs", "-o", "size=400m", "crab-test", directory.toString());
        try {
            BtrfsSnapshotter onTmpfs = BtrfsSnapshotter.open(directory.resolve("data"), SIZE);
            try {
                Volume volume = onTmpfs.createVolume("v");
                run("fallocate", "-l", "340m", directory.resolve("ballast").toString());
                assertThatExceptionOfType(CrabException.class)
                        .isThrownBy(() -> onTmpfs.snapshot(volume, "s"))
                        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.DISK_FULL));
                Files.delete(directory.resolve("ballast"));
                onTmpfs.snapshot(volume, "s");
            } finally {
                Snapshotters.release(directory.resolve("data"));
            }
        } finally {
            SmallDisk.unmount(directory);
        }
    }

    @Test
    void snapshot_isRefusedBeforeTheBtrfsItselfIsFull(@TempDir Path directory) throws Exception {
        run("mount", "-t", "tmpfs", "-o", "size=800m", "crab-test", directory.toString());
        try {
            Path data = directory.resolve("data");
            BtrfsSnapshotter onTmpfs = BtrfsSnapshotter.open(data, SIZE);
            try {
                Volume volume = onTmpfs.createVolume("v");
                long free = Files.getFileStore(volume.directory()).getUsableSpace();
                run(
                        "fallocate",
                        "-l",
                        Long.toString(free - BtrfsSnapshotter.RESERVE / 2),
                        data.resolve("btrfs/ballast").toString());
                assertThatExceptionOfType(CrabException.class)
                        .isThrownBy(() -> onTmpfs.snapshot(volume, "s"))
                        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.DISK_FULL));
            } finally {
                Snapshotters.release(data);
            }
        } finally {
            SmallDisk.unmount(directory);
        }
    }

    /** As a session is opened anew after its sandbox has filled the disk: btrfs gives back what was deleted later. */
    @Test
    void volume_isMadeWhereAFullOneWasJustDeleted(@TempDir Path directory) throws Exception {
        run("mount", "-t", "tmpfs", "-o", "size=800m", "crab-test", directory.toString());
        try {
            Path data = directory.resolve("data");
            BtrfsSnapshotter small = BtrfsSnapshotter.open(data, 300L << 20);
            try {
                Volume volume = small.createVolume("v");
                Files.writeString(volume.upper().resolve("kept"), "kept");
                Snapshot snapshot = small.snapshot(volume, "s");
                for (int round = 0; round < 2; round++) {
                    fill(volume.upper());
                    small.delete(volume);
                    volume = small.createVolume("v" + round, snapshot);
                    assertThat(volume.upper().resolve("kept")).hasContent("kept");
                }
                fill(volume.upper());
                small.delete(volume);
                volume = small.createVolume("w");
                fill(volume.upper());
                long begin = System.nanoTime();
                assertThatExceptionOfType(CrabException.class)
                        .as("full indeed")
                        .isThrownBy(() -> small.createVolume("x", snapshot))
                        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.DISK_FULL))
                        .satisfies(e -> assertThat(e.why())
                                .contains(data.resolve("btrfs.img").toString()));
                assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(60));
            } finally {
                Snapshotters.release(data);
            }
        } finally {
            SmallDisk.unmount(directory);
        }
    }

    private static void fill(Path directory) throws Exception {
        run("sh", "-c", "cd " + directory + "; dd if=/dev/zero of=bytes bs=1M 2> /dev/null; sync -f .; true");
    }

    @Test
    void btrfsThatAFullDiskMadeReadOnly_isMountedAnewWhenNothingUsesIt(@TempDir Path directory) throws Exception {
        run("mount", "-t", "tmpfs", "-o", "size=400m", "crab-test", directory.toString());
        try {
            Path data = directory.resolve("data");
            BtrfsSnapshotter onTmpfs = BtrfsSnapshotter.open(data, SIZE);
            try {
                Volume volume = onTmpfs.createVolume("v");
                Files.writeString(volume.upper().resolve("kept"), "kept");
                onTmpfs.makeDurable(onTmpfs.snapshot(volume, "s"));
                makeReadOnly(directory, volume);

                try (var used = Files.newInputStream(volume.upper().resolve("kept"))) {
                    assertThat(used.read()).isEqualTo('k');
                    assertThatExceptionOfType(CrabException.class)
                            .isThrownBy(onTmpfs::recover)
                            .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.DATA_DIRECTORY_UNUSABLE));
                }
                onTmpfs.recover();
                Volume again = onTmpfs.createVolume("w", onTmpfs.find("s"));
                assertThat(again.upper().resolve("kept")).hasContent("kept");

                makeReadOnly(directory, again);
                BtrfsSnapshotter.open(data, SIZE).createVolume("x", onTmpfs.find("s"));
            } finally {
                Snapshotters.release(data);
            }
        } finally {
            SmallDisk.unmount(directory);
        }
    }

    private static void makeReadOnly(Path disk, Volume volume) throws Exception {
        Path ballast = disk.resolve("ballast");
        byte[] chunk = new byte[1 << 12];
        try (var out = Files.newOutputStream(ballast)) {
            while (true) {
                out.write(chunk);
            }
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("No space left");
        }
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
            try {
                Files.write(volume.upper().resolve("much"), new byte[8 << 20]);
                Filesystems.sync(volume.upper());
            } catch (IOException e) {
                // What is being provoked.
            }
            return Files.getFileStore(volume.upper()).isReadOnly();
        });
        Files.delete(ballast);
    }

    private static void refused(ErrorCode code, Path where) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> BtrfsSnapshotter.open(where, SIZE))
                .satisfies(e -> assertThat(e.code()).isEqualTo(code));
    }

    private static List<String> loopDevices() throws IOException {
        Process losetup = new ProcessBuilder("losetup", "--list").start();
        return losetup.inputReader().lines().toList();
    }
}
