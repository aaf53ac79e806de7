package dev.crab.runtime.snapshot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.FileTree;
import dev.crab.runtime.os.Filesystems;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What every {@link Snapshotter} must do. A provider's test extends it. Long because each thing that a tree can hold has a case. */
public abstract class SnapshotterSuite {
    /** The snapshotter under test; the same for all tests of a class. */
    protected abstract Snapshotter snapshotter();

    /** A name that no test of this run has used. */
    static String name() {
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
        assertThat(before).hasSizeGreaterThan(30);

        Snapshot snapshot = snapshotter().snapshot(volume, name());
        snapshotter().makeDurable(snapshot);
        assertThat(tree(snapshot.upper())).isEqualTo(before);

        Volume copy = snapshotter().createVolume(name(), snapshot);
        assertThat(tree(copy.upper())).isEqualTo(before);
        assertThat(Files.getAttribute(copy.upper().resolve("file"), "unix:nlink"))
                .isEqualTo(4);
        assertThat(Files.getAttribute(copy.upper().resolve("fifo"), "unix:nlink"))
                .isEqualTo(2);
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
    void copyOfASnapshot_isTheSameState_andNeitherNeedsTheOther() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        everyKindOfEntry(volume.upper());
        List<String> before = tree(volume.upper());
        Snapshot first = snapshotter().snapshot(volume, name());
        snapshotter().makeDurable(first);
        Files.writeString(volume.upper().resolve("later"), "x");

        List<String> volumes = snapshotter().volumes();
        Snapshot copy = snapshotter().copy(first, name());
        assertThat(snapshotter().volumes()).containsExactlyInAnyOrderElementsOf(volumes);
        assertThat(copy.id()).isNotEqualTo(first.id());
        assertThat(snapshotter().snapshots()).contains(first.id(), copy.id());
        assertThat(tree(copy.upper())).isEqualTo(before);
        snapshotter().makeDurable(copy);
        assertThat(snapshotter().find(copy.id())).isEqualTo(copy);
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> Files.writeString(copy.upper().resolve("file"), "y"));

        Snapshot second = snapshotter().copy(copy, name());
        snapshotter().delete(first);
        snapshotter().delete(volume);
        assertThat(tree(copy.upper())).isEqualTo(before);
        snapshotter().delete(copy);
        assertThat(tree(second.upper())).isEqualTo(before);
        Volume again = snapshotter().createVolume(name(), second);
        assertThat(tree(again.upper())).isEqualTo(before);
        delete(second, again);
    }

    @Test
    void copyOfASnapshot_thatIsTakenOrMissingOrImpossibleIsRefused() {
        Volume volume = snapshotter().createVolume(name());
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        Snapshot other = snapshotter().snapshot(volume, name());
        refused(ErrorCode.NAME_TAKEN, () -> snapshotter().copy(snapshot, other.id()));
        refused(ErrorCode.NAME_TAKEN, () -> snapshotter().copy(snapshot, snapshot.id()));
        refused(ErrorCode.NAME_INVALID, () -> snapshotter().copy(snapshot, "../x"));
        snapshotter().delete(other);
        refused(ErrorCode.SNAPSHOT_MISSING, () -> snapshotter().copy(other, name()));
        delete(snapshot, volume);
    }

    @Test
    void copiesOfASnapshot_canBeMadeSideBySide() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        for (int i = 0; i < 200; i++) {
            Files.writeString(volume.upper().resolve("file" + i), "content " + i);
        }
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        List<String> before = tree(snapshot.upper());
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Callable<Snapshot>> tasks = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                tasks.add(() -> snapshotter().copy(snapshot, name()));
            }
            for (Future<Snapshot> made : threads.invokeAll(tasks)) {
                Snapshot copy = made.get();
                assertThat(tree(copy.upper())).isEqualTo(before);
                snapshotter().delete(copy);
            }
        } finally {
            threads.shutdown();
        }
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

    @Test
    void snapshot_keepsHoles() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        everyKindOfEntry(volume.upper());
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        Volume copy = snapshotter().createVolume(name(), snapshot);
        for (String file : List.of("sparse", "hole first", "all hole")) {
            long size = Files.size(volume.upper().resolve(file));
            for (Path upper : List.of(snapshot.upper(), copy.upper())) {
                assertThat(upper.resolve(file)).hasSize(size);
                assertThat(allocated(upper.resolve(file))).as(file).isLessThan(1 << 20);
            }
        }
        delete(snapshot, volume, copy);
    }

    private static long allocated(Path file) throws IOException {
        Process stat = new ProcessBuilder("stat", "-c", "%b", file.toString()).start();
        return Long.parseLong(stat.inputReader().readLine()) * 512;
    }

    @Test
    void snapshot_holdsPathsLongerThanTheKernelTakesAtOnce() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        nest(volume, 200);
        List<String> before = tree(volume.upper());
        assertThat(before).hasSize(202).anyMatch(line -> line.length() > 5000);
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        Volume copy = snapshotter().createVolume(name(), snapshot);
        assertThat(tree(copy.upper())).isEqualTo(before);
        delete(snapshot, volume, copy);
        assertThat(snapshotter().volumes()).doesNotContain(volume.id(), copy.id());
        assertThat(snapshotter().snapshots()).doesNotContain(snapshot.id());
    }

    @Test
    void delete_removesWhatIsNestedDeeperThanASnapshotMayBe() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        nest(volume, FileTree.MAX_DEPTH * 3);
        snapshotter().delete(volume);
        assertThat(volume.directory()).doesNotExist();
        assertThat(snapshotter().volumes()).doesNotContain(volume.id());
    }

    private static void nest(Volume volume, int depth) throws Exception {
        run("python3", "-c", """
                import os, sys
                os.chdir(sys.argv[1])
                for i in range(int(sys.argv[2])):
                    os.mkdir('%030d' % i); os.chdir('%030d' % i)
                open('file', 'w').write('at the bottom')
                """, volume.upper().toString(), Integer.toString(depth));
    }

    @Test
    void snapshot_holdsManyFiles() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        manyFiles(volume, 20_000);
        List<String> before = tree(volume.upper());
        assertThat(before).hasSizeGreaterThan(20_000);
        snapshotter().prepare(volume);
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        assertThat(tree(snapshot.upper())).isEqualTo(before);
        delete(snapshot, volume);
    }

    static void manyFiles(Volume volume, int count) throws Exception {
        run("python3", "-c", """
                import os, sys
                os.chdir(sys.argv[1])
                for i in range(int(sys.argv[2])):
                    if i % 100 == 0:
                        os.mkdir('d%d' % i); os.chdir('d%d' % i)
                    with open('f%d' % i, 'w') as out:
                        out.write('content %d' % i * (i % 300))
                    if i % 100 == 99:
                        os.chdir('..')
                """, volume.upper().toString(), Integer.toString(count));
    }

    @Test
    void snapshots_ofOneVolumeShowItsDeletions() throws IOException {
        Volume volume = snapshotter().createVolume(name());
        Files.createDirectories(volume.upper().resolve("dir/sub"));
        Files.writeString(volume.upper().resolve("dir/sub/file"), "1");
        Files.createLink(volume.upper().resolve("link"), volume.upper().resolve("dir/sub/file"));
        Snapshot first = snapshotter().snapshot(volume, name());
        List<String> before = tree(first.upper());
        Files.delete(volume.upper().resolve("dir/sub/file"));
        Files.delete(volume.upper().resolve("dir/sub"));
        Files.writeString(volume.upper().resolve("dir/sub"), "a file now");
        Snapshot second = snapshotter().snapshot(volume, name());
        assertThat(tree(first.upper())).isEqualTo(before);
        assertThat(tree(second.upper())).isEqualTo(tree(volume.upper()));
        snapshotter().delete(first);
        assertThat(second.upper().resolve("link")).hasContent("1");
        delete(second, volume);
    }

    @Test
    void snapshot_holdsWhatWasWrittenToMappedPagesAndNotWhatHasNoName() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        Process holder = new ProcessBuilder("python3", "-c", """
                        import mmap, os, sys
                        os.chdir(sys.argv[1])
                        gone = open('gone', 'wb'); os.unlink('gone'); gone.write(b'x' * 65536); gone.flush()
                        with open('mapped', 'w+b') as out:
                            out.truncate(4096)
                            page = mmap.mmap(out.fileno(), 4096)
                        for line in sys.stdin:
                            page[100] = int(line)
                            print('written', flush=True)
                        """, volume.upper().toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (var requests = holder.outputWriter();
                var answers = holder.inputReader()) {
            for (byte round = 1; round <= 3; round++) {
                // The page is writable from the first round on: nothing tells the kernel of the later ones.
                requests.write(round + "\n");
                requests.flush();
                assertThat(answers.readLine()).isEqualTo("written");
                Snapshot snapshot = snapshotter().snapshot(volume, name());
                assertThat(Files.readAllBytes(snapshot.upper().resolve("mapped"))[100])
                        .isEqualTo(round);
                assertThat(tree(snapshot.upper())).hasSize(2);
                snapshotter().delete(snapshot);
            }
        } finally {
            holder.destroyForcibly().waitFor();
        }
        snapshotter().delete(volume);
    }

    @Test
    void flagsAgainstChanges_standInTheWayOfNothing() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        Path dir = Files.createDirectories(volume.upper().resolve("dir/fixed"));
        Path file = Files.writeString(dir.resolve("file"), "x");
        Files.createLink(volume.upper().resolve("link"), file);
        Path log = Files.writeString(volume.upper().resolve("log"), "x");
        run("chattr", "+i", file.toString());
        run("chattr", "+a", log.toString());
        run("chattr", "+i", dir.toString());
        run("chattr", "+a", volume.upper().resolve("dir").toString());
        List<String> before = tree(volume.upper());
        Snapshot snapshot = snapshotter().snapshot(volume, name());
        Volume copy = snapshotter().createVolume(name(), snapshot);
        assertThat(tree(copy.upper())).isEqualTo(before);
        for (String path : List.of("dir/fixed/file", "link", "log")) {
            assertThatExceptionOfType(FileSystemException.class)
                    .isThrownBy(() -> Files.writeString(copy.upper().resolve(path), "y"));
        }
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> Files.createFile(copy.upper().resolve("dir/fixed/new")));
        delete(snapshot, volume, copy);
        assertThat(copy.directory()).doesNotExist();
        assertThat(volume.directory()).doesNotExist();
        assertThat(snapshot.directory()).doesNotExist();
    }

    @Test
    void snapshots_ofOneNameAtOnceAreOne() throws Exception {
        Volume volume = snapshotter().createVolume(name());
        Files.writeString(volume.upper().resolve("file"), "x");
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 10; round++) {
                String id = name();
                List<Future<Boolean>> tries = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    tries.add(threads.submit(() -> {
                        try {
                            snapshotter().snapshot(volume, id);
                            return true;
                        } catch (CrabException e) {
                            assertThat(e.code()).isEqualTo(ErrorCode.NAME_TAKEN);
                            return false;
                        }
                    }));
                }
                int made = 0;
                for (Future<Boolean> one : tries) {
                    made += one.get() ? 1 : 0;
                }
                assertThat(made).isEqualTo(1);
                assertThat(snapshotter().find(id).upper().resolve("file")).hasContent("x");
                snapshotter().delete(snapshotter().find(id));
            }
        } finally {
            threads.shutdownNow();
        }
        snapshotter().delete(volume);
    }

    @Test
    void snapshot_underALivingOverlayAndASecondOneFromIt(@TempDir Path mountPoint, @TempDir Path lower)
            throws Exception {
        for (int i = 0; i < 5; i++) {
            Files.writeString(lower.resolve("below" + i), "below");
        }
        Volume volume = snapshotter().createVolume(name());
        Snapshot first;
        try (Overlay overlay = new Overlay(lower, volume, mountPoint)) {
            Files.writeString(overlay.root().resolve("below0"), "copied up");
            for (int i = 1; i < 4; i++) {
                Files.delete(overlay.root().resolve("below" + i));
            }
            first = snapshotter().snapshot(volume, name());
        }
        List<String> before = tree(first.upper());
        Volume copy = snapshotter().createVolume(name(), first);
        assertThat(tree(copy.upper())).isEqualTo(before);
        try (Overlay overlay = new Overlay(lower, copy, mountPoint)) {
            assertThat(overlay.root().resolve("below1")).doesNotExist();
            assertThat(overlay.root().resolve("below0")).hasContent("copied up");
            Files.delete(overlay.root().resolve("below4"));
            Files.move(overlay.root().resolve("below0"), overlay.root().resolve("below1"));
            Snapshot second = snapshotter().snapshot(copy, name());
            assertThat(second.upper().resolve("below1")).hasContent("copied up");
            snapshotter().delete(second);
        }
        assertThat(tree(first.upper())).isEqualTo(before);
        delete(first, volume, copy);
    }

    void delete(Snapshot snapshot, Volume... volumes) {
        for (Volume volume : volumes) {
            snapshotter().delete(volume);
        }
        snapshotter().delete(snapshot);
    }

    static void refused(ErrorCode code, Callable<?> call) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(call::call)
                .satisfies(e -> assertThat(e.code()).isEqualTo(code));
    }

    /** What a sandbox can leave in its files, and what it cannot but an overlay or a user does. */
    private static final String EVERY_KIND = """
            import os, socket, stat, struct, subprocess, sys
            os.chdir(sys.argv[1])
            def file(name, text=b'content'):
                with open(name, 'wb') as out:
                    out.write(text)
                return name
            file('file'); file('empty', b''); file(b'bad\\xff\\xfename', b'odd'); file('new\\nline \\\\ and \\u00fc'); file('n' * 255)
            os.makedirs('a/b/c')
            os.link('file', 'hard link'); os.link('file', 'a/b/hard link'); os.link('a/b/hard link', 'a/b/c/third')
            os.symlink('/etc/passwd', 'link'); os.symlink('no\\nwhere', 'dangling'); os.symlink('t' * 1000, 'long')
            os.link('long', 'a/linked link', follow_symlinks=False)
            os.setxattr('link', 'trusted.overlay.origin', b'\\0\\1', follow_symlinks=False)
            os.setxattr('file', 'user.note', b'value'); os.setxattr('file', 'user.empty', b'')
            os.setxattr('a', 'trusted.overlay.opaque', b'y'); os.setxattr('a/b', 'trusted.overlay.redirect', b'/x')
            os.setxattr(file('capable'), 'security.capability', struct.pack('<IIIIII', 0x03000000, 0x400, 0, 0, 0, 1000))
            acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *e) for e in
                [(1, 6, 0xffffffff), (2, 7, 1000), (4, 4, 0xffffffff), (16, 7, 0xffffffff), (32, 0, 0xffffffff)])
            os.setxattr(file('acl'), 'system.posix_acl_access', acl)
            os.mkdir('acls'); os.setxattr('acls', 'system.posix_acl_default', acl); file('acls/inherits')
            os.mkfifo('fifo'); os.link('fifo', 'a/fifo'); os.mknod('null', stat.S_IFCHR | 0o666, os.makedev(1, 3))
            os.mknod('block', stat.S_IFBLK | 0o600, os.makedev(259, 70000))
            os.mknod('whiteout', stat.S_IFCHR, 0); os.link('whiteout', 'a/whiteout')
            os.setxattr('null', 'trusted.overlay.x', b'on a node')
            listener = socket.socket(socket.AF_UNIX); listener.bind('socket')
            with open('sparse', 'wb') as out:
                out.seek(1 << 32); out.write(b'123'); out.truncate((1 << 32) + (5 << 20))
            with open('hole first', 'wb') as out:
                out.seek(1 << 20); out.write(b'x' * 70000); out.seek(3 << 20); out.write(b'end')
            with open('all hole', 'wb') as out:
                out.truncate(123456789)
            file('big', bytes(range(256)) * 20000)
            os.chown('empty', 1234, 4321); os.chown('link', 99, 98, follow_symlinks=False); os.chown('fifo', 70000, 70001)
            os.chown('big', 1000, 1000)
            os.chmod('big', 0o6755); os.chmod('file', 0o4751); os.chmod('a/b', 0o1777); os.chmod('a/b/c', 0o2000); os.chmod('fifo', 0o222)
            for at, (name) in enumerate(['link', 'fifo', 'socket', 'null', 'file', 'a/b/c', 'a/b', 'a', 'acls', '.']):
                os.utime(name, ns=(5, 981173106123456789 + at), follow_symlinks=False)
            os.utime('big', ns=(0, -1234567890123456789))
            """;

    private static void everyKindOfEntry(Path upper) throws Exception {
        run("python3", "-c", EVERY_KIND, upper.toString());
    }

    static void run(String... command) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
    }

    /** One line for each entry with everything that has to be the same. */
    static List<String> tree(Path root) throws IOException {
        List<String> lines = new ArrayList<>();
        // Inodes are numbered anew: what counts is which names share one.
        Map<Long, Integer> inodes = new HashMap<>();
        FileTree.walk(root, e -> {
            StringBuilder line = new StringBuilder();
            line.append(e.type().letter()).append(' ').append(new String(e.path(), StandardCharsets.ISO_8859_1));
            line.append(' ').append(Integer.toOctalString(e.permissions())).append(' ');
            line.append(e.uid()).append(':').append(e.gid()).append(' ');
            line.append(e.deviceMajor()).append(',').append(e.deviceMinor()).append(' ');
            line.append(e.modifiedSeconds()).append('.').append(e.modifiedNanos());
            Integer known = inodes.putIfAbsent(e.inode(), inodes.size());
            line.append(" i").append(known == null ? inodes.size() - 1 : known);
            line.append(" -> ");
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
