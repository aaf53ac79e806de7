package dev.crab.runtime.engine;

import static dev.crab.runtime.engine.EngineFixture.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.criu.CriuClient;
import dev.crab.runtime.criu.TestCriu;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxFixture;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.snapshot.Volume;
import dev.crab.runtime.store.CheckpointImage;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.PageObjects;
import dev.crab.runtime.store.ProcessEntry;
import dev.crab.runtime.store.ProcessImage;
import dev.crab.runtime.store.SampledPage;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A checkpoint that is damaged, or is not what its manifest says, is refused, and nothing of the attempt stays. */
class RestoreRefusalTest {
    private static EngineFixture fixture;
    private static CheckpointImage image;

    @BeforeAll
    static void checkpoint() throws IOException {
        fixture = new EngineFixture();
        RunningSandbox sandbox = fixture.start();
        run(
                sandbox,
                "mkdir /root/d; echo one > /root/d/file; ln /root/d/file /root/hard; ln -s /etc/passwd /root/soft");
        run(sandbox, Programs.HTTP_SERVER);
        image = fixture.checkpoint(sandbox, Effect.FULL, null);
        fixture.destroy(sandbox);
    }

    @AfterAll
    static void close() throws IOException {
        fixture.close();
    }

    @Test
    void intactImage_isRestored() {
        // What all the refusals here are to be seen against.
        RunningSandbox sandbox = fixture.restore(EngineFixture.newId(), image).sandbox();
        assertThat(run(sandbox, "cat /root/d/file")).isEqualTo("one");
        fixture.destroy(sandbox);
    }

    @Test
    void damagedDump_isRefused() throws IOException {
        ProcessImage processes = processes();
        for (long offset : List.of(
                0L, 8L, 9L, 40L, processes.dump().length() / 2, processes.dump().length() - 1)) {
            damaged(processes.dump(), offset, ErrorCode.OBJECT_CORRUPT);
        }
    }

    @Test
    void damagedFileTable_isRefused() throws IOException {
        ObjectRef table = image.files().fileTable();
        for (long offset : List.of(0L, 30L, table.length() / 2, table.length() - 1)) {
            damaged(table, offset, ErrorCode.OBJECT_CORRUPT);
        }
    }

    @Test
    void dumpOfANewerFormat_isRefused() {
        byte[] content = content(processes().dump());
        content[8] = 3;
        refused(ErrorCode.FORMAT_UNKNOWN, "version 3", withDump(write(content)));
    }

    @Test
    void dumpThatIsNotOne_isRefused() {
        refused(
                ErrorCode.OBJECT_CORRUPT,
                "does not begin like a dump",
                withDump(image.files().fileTable()));
        byte[] whole = content(processes().dump());
        refused(ErrorCode.OBJECT_CORRUPT, "", withDump(write(java.util.Arrays.copyOf(whole, whole.length / 2))));
    }

    @Test
    void missingSnapshot_isRefused() {
        FileImage files = image.files();
        FileImage other = new FileImage(1, "no-such-snapshot", files.fileTable(), files.bases(), files.entries());
        refused(ErrorCode.SNAPSHOT_MISSING, "no-such-snapshot", new CheckpointImage(image.processes(), other));
    }

    @Test
    void snapshotWithOtherFiles_isRefusedNamingThem() throws IOException {
        refusedFiles("/root/d/file differs: its content", upper -> {
            Path file = upper.resolve("root/d/file");
            var time = Files.getLastModifiedTime(file);
            Files.writeString(file, "two\n");
            Files.setLastModifiedTime(file, time);
        });
        refusedFiles("/root/d/new is extra", upper -> Files.writeString(upper.resolve("root/d/new"), ""));
        refusedFiles("/root/soft is missing", upper -> Files.delete(upper.resolve("root/soft")));
        refusedFiles("/root/soft differs: it points to", upper -> {
            Files.delete(upper.resolve("root/soft"));
            Files.createSymbolicLink(upper.resolve("root/soft"), Path.of("/etc/shadow"));
        });
        refusedFiles(
                "/root/d differs: its mode", upper -> Files.setAttribute(upper.resolve("root/d"), "unix:mode", 0777));
        refusedFiles("/root/hard differs", upper -> {
            Files.delete(upper.resolve("root/hard"));
            Files.copy(
                    upper.resolve("root/d/file"),
                    upper.resolve("root/hard"),
                    java.nio.file.StandardCopyOption.COPY_ATTRIBUTES);
        });
        refusedFiles(
                "/root/d/file differs: its owner",
                upper -> Files.setAttribute(upper.resolve("root/d/file"), "unix:uid", 5));
    }

    @Test
    void otherProcesses_areRefusedBeforeTheyRun() {
        ProcessImage processes = processes();
        List<ProcessEntry> more = new ArrayList<>(processes.processes());
        ProcessEntry last = more.get(more.size() - 1);
        more.add(new ProcessEntry(999, 1, 999, 999, "ghost", "L", List.of(), List.of(), List.of()));
        refused(ErrorCode.RESTORE_MISMATCH, "process 999 (ghost) is missing", with(more));
        refused(
                ErrorCode.RESTORE_MISMATCH,
                "(python3) is extra",
                with(processes.processes().subList(0, 1)));
        assertThat(last.listening()).containsExactly("tcp 0100007F 8000");
        refused(
                ErrorCode.RESTORE_MISMATCH,
                "8001",
                with(lastIs(processes, last, List.of("tcp 0100007F 8001"), last.locks())));
        // Nothing is read of locks unless one is expected.
        refused(
                keepsLocks() ? ErrorCode.RESTORE_MISMATCH : ErrorCode.CRIU_UNUSABLE,
                "POSIX WRITE 100 106",
                with(lastIs(processes, last, last.listening(), List.of("POSIX WRITE 100 106"))));
    }

    private static boolean keepsLocks() {
        try (CriuClient criu = CriuClient.open(TestCriu.binary())) {
            return criu.features().locksAfterMappings();
        }
    }

    /** The table with another last process. */
    private static List<ProcessEntry> lastIs(
            ProcessImage processes, ProcessEntry last, List<String> listening, List<String> locks) {
        List<ProcessEntry> changed = new ArrayList<>(processes.processes());
        changed.set(
                changed.size() - 1,
                new ProcessEntry(
                        last.pid(),
                        last.ppid(),
                        last.pgid(),
                        last.sid(),
                        last.comm(),
                        last.state(),
                        last.fdKinds(),
                        listening,
                        locks));
        return changed;
    }

    @Test
    void imagesThatCriuRefuses_areRefusedWithItsReason() {
        // Without its inventory a dump is none.
        Path images = unpacked();
        refused(ErrorCode.RESTORE_FAILED, "Error (", withDump(repacked(images, "inventory.img")));
    }

    @Test
    void exceptionOfTheHook_endsTheRestore() {
        String id = EngineFixture.newId();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> fixture.restore(id, SandboxFixture.spec(), image, processes -> {
                    throw new IllegalStateException("no");
                }));
        nothingIsLeftOf(id);
    }

    @Test
    void nameInUse_isRefusedAndItsOwnerKept() {
        RunningSandbox sandbox = fixture.start();
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> fixture.restore(sandbox.id(), image))
                .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.NAME_TAKEN));
        assertThat(run(sandbox, "echo alive")).isEqualTo("alive");
        fixture.destroy(sandbox);
    }

    @Test
    void otherMemory_isRefusedBeforeItRuns() {
        ProcessImage p = processes();
        assertThat(p.sample()).hasSizeGreaterThanOrEqualTo(8);
        List<SampledPage> sample = new ArrayList<>(p.sample());
        SampledPage last = sample.remove(sample.size() - 1);
        sample.add(new SampledPage(last.pid(), last.address(), "ab".repeat(32)));
        refused(
                ErrorCode.RESTORE_MISMATCH,
                "memory of process " + last.pid(),
                new CheckpointImage(
                        new ProcessImage(
                                p.generation(),
                                p.dump(),
                                p.bases(),
                                p.processes(),
                                sample,
                                p.criuVersion(),
                                p.kernel(),
                                null),
                        image.files()));
    }

    private static ProcessImage processes() {
        return Objects.requireNonNull(image.processes());
    }

    private static CheckpointImage with(List<ProcessEntry> table) {
        ProcessImage p = processes();
        return new CheckpointImage(
                new ProcessImage(
                        p.generation(), p.dump(), p.bases(), table, p.sample(), p.criuVersion(), p.kernel(), null),
                image.files());
    }

    private static CheckpointImage withDump(ObjectRef dump) {
        ProcessImage p = processes();
        return new CheckpointImage(
                new ProcessImage(
                        p.generation(), dump, p.bases(), p.processes(), p.sample(), p.criuVersion(), p.kernel(), null),
                image.files());
    }

    private static byte[] content(ObjectRef ref) {
        try (InputStream in = fixture.objects.open(ref)) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static ObjectRef write(byte[] content) {
        return fixture.objects.write(EngineFixture.newId(), out -> out.write(content));
    }

    private static Path unpacked() {
        try {
            Path directory = Files.createTempDirectory(fixture.data.path(), "unpacked");
            DumpFile.unpack(new PageObjects(fixture.objects, Runnable::run), processes(), directory, 1L << 30);
            return directory;
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static ObjectRef repacked(Path images, String without) {
        try {
            Files.delete(images.resolve(without));
            return DumpFile.pack(
                            new PageObjects(fixture.objects, Runnable::run),
                            EngineFixture.newId() + ".dump",
                            images,
                            null,
                            List.of())
                    .object();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Flips one byte of an object's file, sees the restore refused, and flips it back. */
    private static void damaged(ObjectRef ref, long offset, ErrorCode code) throws IOException {
        flip(ref, offset);
        try {
            refused(code, "", image);
        } finally {
            flip(ref, offset);
        }
    }

    private static void flip(ObjectRef ref, long offset) throws IOException {
        Path file;
        try (Stream<Path> all = Files.walk(fixture.data.path().resolve("objects"))) {
            file = all.filter(path -> path.endsWith(ref.name())).findAny().orElseThrow();
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            channel.read(one, offset);
            one.put(0, (byte) (one.get(0) ^ 0x10)).rewind();
            channel.write(one, offset);
        }
    }

    private interface Change {
        void to(Path upper) throws IOException;
    }

    /** A snapshot like the image's, with a change, in its place. */
    private static void refusedFiles(String reason, Change change) throws IOException {
        Volume volume = fixture.snapshotter.createVolume(
                EngineFixture.newId(), fixture.snapshotter.find(image.files().snapshotId()));
        change.to(volume.upper());
        Snapshot snapshot = fixture.snapshotter.snapshot(volume, EngineFixture.newId());
        FileImage files = new FileImage(
                1,
                snapshot.id(),
                image.files().fileTable(),
                image.files().bases(),
                image.files().entries());
        refused(ErrorCode.RESTORE_MISMATCH, reason, new CheckpointImage(image.processes(), files));
        fixture.snapshotter.delete(snapshot);
        fixture.snapshotter.delete(volume);
    }

    private static void refused(ErrorCode code, String reason, CheckpointImage other) {
        String id = EngineFixture.newId();
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> fixture.restore(id, other))
                .satisfies(e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code))
                .withMessageContaining(reason);
        nothingIsLeftOf(id);
    }

    private static void nothingIsLeftOf(String id) {
        assertThat(fixture.snapshotter.volumes()).doesNotContain(id);
        try (Stream<String> mounts = Files.lines(Path.of("/proc/self/mountinfo"));
                Stream<Path> work = Files.walk(fixture.data.path().resolve("work"), 3)) {
            assertThat(mounts).noneMatch(line -> line.contains(id));
            assertThat(work.map(path -> path.getFileName().toString())).noneMatch(name -> name.startsWith("restore-"));
            for (String line : Files.readAllLines(Path.of("/proc/self/mountinfo"))) {
                if (line.contains(" - cgroup")) {
                    assertThat(Path.of(line.split(" ", 6)[4], "crab", id)).doesNotExist();
                }
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
