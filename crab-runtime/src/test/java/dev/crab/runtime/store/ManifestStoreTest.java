package dev.crab.runtime.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ManifestStoreTest {
    @TempDir
    Path directory;

    private ManifestStore store;

    @BeforeEach
    void open() {
        store = new ManifestStore("s", directory);
    }

    @Test
    void written_isReadBackEqual() {
        Manifest withDump = manifest("s", 1, true);
        Manifest filesOnly = manifest("s", 7, false);
        assertThat(store.write(withDump)).isPositive();
        store.write(filesOnly);
        assertThat(store.read(1)).isEqualTo(withDump);
        assertThat(store.read(7)).isEqualTo(filesOnly);
        assertThat(store.generations()).containsExactly(1L, 7L);
    }

    @Test
    void file_isOneJsonDocument() throws IOException {
        store.write(manifest("s", 1, true));
        assertThat(StoreJson.MAPPER
                        .readTree(store.file(1).toFile())
                        .path("manifest")
                        .path("session")
                        .textValue())
                .isEqualTo("s");
    }

    @Test
    void anyFlippedByte_isRefusedAndNamed() throws IOException {
        store.write(manifest("s", 1, true));
        byte[] intact = Files.readAllBytes(store.file(1));
        for (int i = 0; i < intact.length; i++) {
            byte[] damaged = intact.clone();
            damaged[i] ^= 1;
            Files.write(store.file(1), damaged);
            assertRefused("byte " + i, ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> store.read(1));
        }
    }

    @Test
    void anyOtherLength_isRefused() throws IOException {
        store.write(manifest("s", 1, false));
        byte[] intact = Files.readAllBytes(store.file(1));
        for (int length = 0; length < intact.length; length++) {
            Files.write(store.file(1), Arrays.copyOf(intact, length));
            assertRefused("length " + length, ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> store.read(1));
        }
        Files.write(store.file(1), Arrays.copyOf(intact, intact.length + 1));
        assertRefused("longer", ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> store.read(1));
    }

    @Test
    void underAnotherName_isRefused() throws IOException {
        store.write(manifest("s", 1, false));
        Files.copy(store.file(1), store.file(2));
        assertRefused("misnamed", ErrorCode.MANIFEST_CORRUPT, store.file(2), () -> store.read(2));
        ManifestStore other = new ManifestStore("t", directory);
        assertRefused("other session", ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> other.read(1));
    }

    @Test
    void missing_isUnknownAndNamed() {
        assertRefused("missing", ErrorCode.GENERATION_UNKNOWN, store.file(3), () -> store.read(3));
    }

    @Test
    void newerVersion_isRefusedAsUnknown() throws IOException {
        String payload = "{\"version\":3}";
        put(3, payload);
        assertRefused("newer", ErrorCode.FORMAT_UNKNOWN, store.file(1), () -> store.read(1));
    }

    /** Else it would be taken for damage, and turns be given up for an older one. */
    @Test
    void versionWithoutLocks_isReadAsOneInWhichNobodyHeldAny() throws IOException {
        Manifest manifest = manifest("s", 1, true);
        store.write(manifest);
        ObjectNode tree =
                (ObjectNode) StoreJson.MAPPER.readTree(store.file(1).toFile()).get("manifest");
        tree.put("version", 1);
        tree.at("/checkpoint/processes/processes").forEach(process -> ((ObjectNode) process).remove("locks"));
        put(1, tree.toString());
        Manifest read = store.read(1);
        assertThat(Objects.requireNonNull(read.checkpoint().processes()).processes())
                .allSatisfy(process -> assertThat(process.locks()).isEmpty());
        assertThat(read.checkpoint().files()).isEqualTo(manifest.checkpoint().files());
        tree.put("version", ManifestStore.VERSION);
        put(ManifestStore.VERSION, tree.toString());
        assertRefused("none in this version", ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> store.read(1));
    }

    /** A manifest of generation 1 with a right checksum. */
    private void put(int version, String payload) throws IOException {
        byte[] bytes = payload.getBytes(StandardCharsets.UTF_8);
        Files.writeString(
                store.file(1),
                "{\"format\":\"crab-manifest\",\"version\":" + version + ",\"length\":" + bytes.length
                        + ",\"sha256\":\"" + Digests.sha256(bytes) + "\",\"manifest\":" + payload + "}\n");
    }

    @Test
    void validChecksumOverNonsense_isRefused() throws IOException {
        String payload = "{\"version\":2,\"session\":\"s\"}";
        put(2, payload);
        assertRefused("nonsense", ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> store.read(1));
    }

    /** Each is a manifest with a right checksum that no writer can have written. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/checkpoint/files           | null",
                "/checkpoint/files/snapshotId| null",
                "/checkpoint/files/snapshotId| \"../../etc\"",
                "/checkpoint/files/snapshotId| \"t.g1\"",
                "/checkpoint/files/generation| 2",
                "/checkpoint/processes/generation| 0",
                "/checkpoint/processes/dump  | null",
                "/checkpoint/processes/dump/name| \"t.g1.dump\"",
                "/checkpoint/files/fileTable/name| \"t.g1.files\"",
                "/checkpoint/files/bases     | null",
                "/checkpoint/files/bases/0/name| \"t.g1.files\"",
                "/image                      | \"/images/\\u0000\"",
                "/image                      | null",
                "/spec                       | null",
                "/effect                     | null",
                "/session                    | \"No Name\"",
            })
    void validChecksumOverWhatCannotBe_isRefused(String field, String value) throws IOException {
        store.write(manifest("s", 1, true));
        ObjectNode tree =
                (ObjectNode) StoreJson.MAPPER.readTree(store.file(1).toFile()).get("manifest");
        JsonPointer pointer = JsonPointer.compile(field);
        ((ObjectNode) tree.at(pointer.head()))
                .set(pointer.last().getMatchingProperty(), StoreJson.MAPPER.readTree(value));
        String payload = tree.toString();
        put(ManifestStore.VERSION, payload);
        assertRefused(field, ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> store.read(1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"mkdir -p 1.json/full", "mkfifo 1.json", "ln -s /dev/zero 1.json", "truncate -s 1G 1.json"})
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void whatIsNoPlainFile_isDamageAndCanBeDeleted(String command) throws Exception {
        assertThat(new ProcessBuilder("sh", "-c", command)
                        .directory(directory.toFile())
                        .start()
                        .waitFor())
                .isZero();
        assertThat(store.generations()).containsExactly(1L);
        assertRefused(command, ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> store.read(1));
        store.delete(1);
        assertThat(store.generations()).isEmpty();
    }

    @Test
    void linkToTheManifestsOfAnother_isRefused() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory);
        store.write(manifest("s", 1, false));
        assertRefused(
                "link", ErrorCode.DATA_DIRECTORY_UNUSABLE, link, () -> new ManifestStore("s", link).generations());
    }

    @Test
    void generationThatExists_isNeverOverwritten() throws IOException {
        store.write(manifest("s", 1, true));
        byte[] before = Files.readAllBytes(store.file(1));
        assertRefused("twice", ErrorCode.MANIFEST_CORRUPT, store.file(1), () -> store.write(manifest("s", 1, false)));
        assertThat(Files.readAllBytes(store.file(1))).isEqualTo(before);
    }

    @Test
    void fullDisk_leavesNoManifest() throws IOException {
        try (SmallDisk disk = SmallDisk.tmpfs(directory.resolve("disk"), 64)) {
            ManifestStore full = new ManifestStore("s", disk.root());
            full.write(manifest("s", 1, true));
            assertThatThrownBy(() -> Files.write(disk.root().resolve("filler"), new byte[1 << 20]))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(() -> full.write(manifest("s", 2, true)))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.DISK_FULL));
            assertThat(full.generations()).containsExactly(1L);
            assertThat(full.read(1)).isEqualTo(manifest("s", 1, true));
        }
    }

    static Manifest manifest(String session, long generation, boolean dump) {
        ObjectRef table = new ObjectRef(Names.checkpoint(session, generation) + ".files", 10, "ab".repeat(32));
        ObjectRef older = new ObjectRef(Names.prefix(session) + "g0.files", 9, "ba".repeat(32));
        ProcessImage processes = new ProcessImage(
                generation,
                new ObjectRef(Names.checkpoint(session, generation) + ".dump", 20, "cd".repeat(32)),
                List.of(new ObjectRef(Names.checkpoint(session, generation) + ".dump.base0", 30, "ef".repeat(32))),
                List.of(new ProcessEntry(
                        1,
                        0,
                        1,
                        1,
                        "crab-init",
                        "S",
                        List.of("0:chr"),
                        List.of("tcp 127.0.0.1 80"),
                        List.of("POSIX WRITE 0 EOF"))),
                List.of(new SampledPage(12, 0x7f0000000000L, "01".repeat(32))),
                "4.2.1",
                "6.18.0",
                "00ff");
        return new Manifest(
                session,
                generation,
                generation - 1,
                generation,
                1_700_000_000_000L,
                "FULL",
                List.of(new Manifest.Reason("process-set-differs", "PROCESSES", List.of("pid 12 (pythön3)"))),
                JsonNodeFactory.instance.objectNode().put("hostname", "sandbox"),
                "/images/debian",
                new CheckpointImage(
                        dump ? processes : null,
                        new FileImage(generation, Names.checkpoint(session, generation), table, List.of(older), 3)),
                Map.of("shell.main", "cd /tmp"),
                List.of("process 7"),
                List.of(new LostProcess(7, 1, List.of("a", "b c"), List.of("X=ü"), "/srv", 0, 5)));
    }

    private static void assertRefused(String what, ErrorCode code, Path named, ThrowingCallable call) {
        assertThatThrownBy(call).as(what).isInstanceOfSatisfying(CrabException.class, e -> {
            assertThat(e.code()).isEqualTo(code);
            assertThat(e.getMessage()).contains(named.toString());
        });
    }
}
