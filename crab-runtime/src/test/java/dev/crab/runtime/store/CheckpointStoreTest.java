package dev.crab.runtime.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CheckpointStoreTest {
    @TempDir
    Path directory;

    @Test
    void directories_areClosedToOthers() throws IOException {
        DataDirectory data = new DataDirectory(directory.resolve("a/data"));
        try (CheckpointStore store = CheckpointStore.open(data, "s")) {
            store.objects().write("s.g1", out -> out.write(1));
        }
        for (Path path : List.of(
                data.root(),
                data.root().resolve("sessions"),
                data.session("s"),
                data.session("s").resolve("manifests"),
                data.objects(),
                DurableFiles.parent(new FileObjectStore(data).file("s.g1")))) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                    .as("%s", path)
                    .isEqualTo("rwx------");
        }
        assertThat(data.sessions()).containsExactly("s");
    }

    @Test
    void sessionThatIsOpen_isLocked() {
        DataDirectory data = new DataDirectory(directory);
        try (CheckpointStore store = CheckpointStore.open(data, "s")) {
            assertRefused(ErrorCode.SESSION_LOCKED, () -> CheckpointStore.open(data, "s"));
            store.journal().append("one", JsonNodeFactory.instance.objectNode());
        }
        try (CheckpointStore store = CheckpointStore.open(data, "s")) {
            assertThat(store.journal().recovered()).hasSize(1);
        }
    }

    @Test
    void refusedJournal_givesTheLockBack() throws IOException {
        DataDirectory data = new DataDirectory(directory);
        CheckpointStore.open(data, "s").close();
        Files.write(data.session("s").resolve("journal"), new byte[3]);
        assertRefused(ErrorCode.JOURNAL_CORRUPT, () -> CheckpointStore.open(data, "s"));
        assertRefused(ErrorCode.JOURNAL_CORRUPT, () -> CheckpointStore.open(data, "s"));
        assertThat(StoreLock.owner(data.lock("s"))).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ln -sf /dev/zero journal.durable",
                "rm journal.durable; mkfifo journal.durable",
                "rm journal.durable; mkdir journal.durable",
                "rm journal; mkfifo journal",
                "rm journal; mkdir journal",
                "ln -sf /dev/zero journal"
            })
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void whatIsNoPlainFile_isRefusedAndGivesTheLockBack(String command) throws Exception {
        DataDirectory data = new DataDirectory(directory);
        CheckpointStore.open(data, "s").close();
        assertThat(new ProcessBuilder("sh", "-c", command)
                        .directory(data.session("s").toFile())
                        .start()
                        .waitFor())
                .isZero();
        assertRefused(ErrorCode.JOURNAL_CORRUPT, () -> CheckpointStore.open(data, "s"));
        assertRefused(ErrorCode.JOURNAL_CORRUPT, () -> CheckpointStore.open(data, "s"));
        assertThat(StoreLock.owner(data.lock("s"))).isEmpty();
    }

    @Test
    void unknownSession_isNotMadeByLookingForIt() {
        DataDirectory data = new DataDirectory(directory);
        assertRefused(ErrorCode.SESSION_UNKNOWN, () -> CheckpointStore.openExisting(data, "nobody"));
        assertThat(data.sessions()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "..",
                "a/b",
                "A",
                "a.b",
                "-a",
                "a\nb",
                "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234"
            })
    void impossibleName_isRefused(String name) {
        assertRefused(ErrorCode.NAME_INVALID, () -> CheckpointStore.open(new DataDirectory(directory), name));
    }

    @Test
    void readOnlyDataDirectory_isRefusedAndWhatIsThereStaysReadable() throws IOException {
        try (SmallDisk disk = SmallDisk.tmpfs(directory.resolve("disk"), 512)) {
            DataDirectory data = new DataDirectory(disk.root());
            try (CheckpointStore store = CheckpointStore.open(data, "s")) {
                store.journal().append("one", JsonNodeFactory.instance.objectNode());
            }
            disk.readOnly();
            assertRefused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> CheckpointStore.open(data, "s"));
            assertRefused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> CheckpointStore.open(data, "t"));
            assertThat(FileJournal.read(data.session("s"))).hasSize(1);
        }
    }

    @Test
    void dataDirectoryThatIsNone_isRefused() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertRefused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> new DataDirectory(file).prepare());
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory);
        assertRefused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> new DataDirectory(link).prepare());
        Path open = Files.createDirectory(directory.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertRefused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> new DataDirectory(open).prepare());
        Path foreign = Files.createDirectory(directory.resolve("foreign"));
        Files.setAttribute(foreign, "unix:uid", 12345);
        assertRefused(ErrorCode.DATA_DIRECTORY_UNUSABLE, () -> new DataDirectory(foreign).prepare());
    }

    @Test
    void retain_deletesWhatNoKeptManifestNeedsAndNothingOfOthers() {
        DataDirectory data = new DataDirectory(directory);
        try (CheckpointStore store = CheckpointStore.open(data, "s");
                CheckpointStore other = CheckpointStore.open(data, "s2")) {
            for (long generation = 1; generation <= 3; generation++) {
                store.manifests().write(ManifestStoreTest.manifest("s", generation, true));
                for (ObjectRef ref :
                        ManifestStoreTest.manifest("s", generation, true).objects()) {
                    store.objects().write(ref.name(), out -> out.write(1));
                }
            }
            other.objects().write("s2.g1.dump", out -> out.write(1));
            store.objects().write("s.g4.dump", out -> out.write(1));

            List<String> deleted = store.retain(
                    List.of(store.manifests().read(2), store.manifests().read(3)));

            assertThat(deleted).containsExactlyInAnyOrder("s.g1.dump", "s.g1.dump.base0", "s.g1.files", "s.g4.dump");
            assertThat(store.manifests().generations()).containsExactly(2L, 3L);
            assertThat(store.objects().list(""))
                    .containsExactlyInAnyOrder(
                            "s.g0.files", // all build upon it
                            "s.g2.dump",
                            "s.g2.dump.base0",
                            "s.g2.files",
                            "s.g3.dump",
                            "s.g3.dump.base0",
                            "s.g3.files",
                            "s2.g1.dump");
        }
    }

    private static void assertRefused(ErrorCode code, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(code));
    }
}
