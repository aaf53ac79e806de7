package dev.crab.runtime.session;

import static dev.crab.runtime.session.SessionFixture.ask;
import static dev.crab.runtime.session.SessionFixture.peek;
import static dev.crab.runtime.session.SessionFixture.position;
import static dev.crab.runtime.session.SessionFixture.run;
import static dev.crab.runtime.session.SessionFixture.startCounter;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.Btrfs;
import dev.crab.runtime.session.SandboxSession.Recovery;
import dev.crab.runtime.snapshot.BtrfsSnapshotter;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.store.CheckpointStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A session whose newest generation is damaged goes on from the newest that is not, and says so. */
class FallbackTest {
    private static SessionFixture fixture;

    @BeforeAll
    static void open() {
        fixture = new SessionFixture();
    }

    @AfterAll
    static void close() {
        fixture.close();
    }

    /** What of a generation is damaged. */
    enum Damage {
        MANIFEST_FLIPPED,
        MANIFEST_MISSING,
        MANIFEST_IS_A_DIRECTORY,
        MANIFEST_WITH_OLDER_PROCESSES,
        MANIFEST_WITH_OLDER_FILES,
        DUMP_FLIPPED,
        DUMP_CUT,
        FILE_TABLE_FLIPPED,
        FILE_TABLE_MISSING,
        SNAPSHOT_MISSING,
        SNAPSHOT_CHANGED
    }

    @ParameterizedTest
    @EnumSource
    void damagedNewestGeneration_isSkippedForTheOneBefore(Damage damage) throws IOException {
        String id = "fall-" + damage.name().toLowerCase(java.util.Locale.ROOT);
        threeGenerations(id);

        inflict(damage, id, 3);
        List<SessionArchive.Finding> findings = new ArrayList<>();
        fixture.runtime().verify(id, findings::add);
        assertThat(findings).filteredOn(finding -> finding.problem() != null).isNotEmpty();

        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.recovery()).isInstanceOfSatisfying(Recovery.Restored.class, restored -> {
                // The newest turn that left the second generation as it was.
                assertThat(restored.commit().turn()).isEqualTo(3);
                assertThat(restored.commit().generation()).isEqualTo(2);
                assertThat(restored.commit().position()).hasToString(position(3).toString());
                assertThat(restored.skipped()).hasSize(1);
            });
            assertThat(peek(session.sandbox())).isEqualTo(2);
            assertThat(run(session.sandbox(), "ls /srv")).doesNotContain("later");
            assertThat(session.sandbox().attributes()).containsEntry("test", "two");
            Turn turn = session.beginTurn();
            assertThat(ask(session.sandbox())).isEqualTo(3);
            assertThat(turn.commit(position(40)).commit().turn()).isEqualTo(4);
        }
        assertThat(fixture.stored(id)).noneMatch(name -> name.contains(".g3") || name.equals("3.json"));
        assertThat(fixture.runtime().archive(id).turns())
                .extracting(turn -> turn.commit().generation())
                .containsExactly(1L, 2L, 2L, 4L);
        try (SandboxSession session = fixture.open(id)) {
            assertThat(session.recovery()).isInstanceOfSatisfying(Recovery.Restored.class, restored -> {
                assertThat(restored.commit().position())
                        .hasToString(position(40).toString());
                assertThat(restored.skipped()).isEmpty();
            });
            assertThat(peek(session.sandbox())).isEqualTo(3);
        }
    }

    @Test
    void whatWasSkipped_isToldAgainUntilATurnIsCommitted() throws IOException {
        threeGenerations("told-again");
        inflict(Damage.DUMP_FLIPPED, "told-again", 3);
        List<String> told;
        try (SandboxSession session = fixture.open("told-again")) {
            told = skipped(session);
            assertThat(told).hasSize(1);
        }
        try (SandboxSession session = fixture.open("told-again")) {
            assertThat(skipped(session)).isEqualTo(told);
            session.beginTurn().commit(position(40));
        }
        try (SandboxSession session = fixture.open("told-again")) {
            assertThat(skipped(session)).isEmpty();
        }
    }

    private static List<String> skipped(SandboxSession session) {
        return ((Recovery.Restored) session.recovery()).skipped();
    }

    @Test
    void severalDamagedGenerations_areSkipped() throws IOException {
        threeGenerations("two-damaged");
        inflict(Damage.MANIFEST_FLIPPED, "two-damaged", 3);
        inflict(Damage.FILE_TABLE_FLIPPED, "two-damaged", 2);
        try (SandboxSession session = fixture.open("two-damaged")) {
            assertThat(session.recovery())
                    .isInstanceOfSatisfying(
                            Recovery.Restored.class,
                            restored -> assertThat(restored.skipped()).hasSize(2));
            assertThat(peek(session.sandbox())).isEqualTo(1);
        }
    }

    @Test
    void damagedOlderGeneration_isNoMatterWhileTheNewestComesBack() throws IOException {
        threeGenerations("old-damaged");
        inflict(Damage.MANIFEST_FLIPPED, "old-damaged", 1);
        try (SandboxSession session = fixture.open("old-damaged")) {
            assertThat(session.recovery()).isInstanceOfSatisfying(Recovery.Restored.class, restored -> {
                assertThat(restored.commit().turn()).isEqualTo(4);
                assertThat(restored.skipped()).isEmpty();
            });
        }
        try (SandboxSession session = fixture.open("old-damaged")) {
            assertThat(session.journal().recovered())
                    .noneMatch(record -> record.kind().equals("rollback"));
        }
    }

    @Test
    void everythingDamaged_isRefusedWithTheNewestsReason_andNothingIsChanged() throws IOException {
        threeGenerations("all-damaged");
        List<byte[]> intact = List.of(
                inflict(Damage.MANIFEST_FLIPPED, "all-damaged", 1),
                inflict(Damage.FILE_TABLE_FLIPPED, "all-damaged", 2),
                inflict(Damage.MANIFEST_FLIPPED, "all-damaged", 3));
        List<String> before = fixture.stored("all-damaged");
        assertThatThrownBy(() -> fixture.open("all-damaged")).isInstanceOfSatisfying(CrabException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.MANIFEST_CORRUPT);
            assertThat(e.getMessage()).contains("3.json");
            assertThat(e.getSuppressed()).hasSize(2);
        });
        assertThat(fixture.stored("all-damaged")).isEqualTo(before);
        Files.write(manifest("all-damaged", 3), intact.get(2));
        try (SandboxSession session = fixture.open("all-damaged")) {
            assertThat(peek(session.sandbox())).isEqualTo(3);
        }
    }

    @Test
    void imageAsItCame_isNoGenerationToFallBackTo() throws IOException {
        try (SandboxSession session = fixture.open("only-one")) {
            session.beginTurn().commit(position(1));
            Turn turn = session.beginTurn();
            session.sandbox().writeFile("/srv/file", new byte[1]);
            assertThat(turn.commit(position(2)).commit().generation()).isEqualTo(1);
        }
        inflict(Damage.FILE_TABLE_FLIPPED, "only-one", 1);
        assertThatThrownBy(() -> fixture.open("only-one"))
                .isInstanceOfSatisfying(
                        CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.OBJECT_CORRUPT));
    }

    @Test
    void policyToRefuse_refusesAndLeavesEverything() throws IOException {
        threeGenerations("strict");
        inflict(Damage.DUMP_FLIPPED, "strict", 3);
        List<String> before = fixture.stored("strict");
        try (CrabRuntime strict = CrabRuntime.builder()
                .dataDirectory(fixture.data())
                .onDamaged(DamagePolicy.REFUSE)
                .build()) {
            assertThatThrownBy(() -> strict.open("strict", SessionFixture.spec()))
                    .isInstanceOfSatisfying(
                            CrabException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.OBJECT_CORRUPT));
        }
        assertThat(fixture.stored("strict")).isEqualTo(before);
    }

    /** Turns 1 to 4 with generations 1, 2, 2 and 3; counts 1, 2, 2 and 3. */
    private static void threeGenerations(String id) {
        try (SandboxSession session = fixture.open(id)) {
            Turn first = session.beginTurn();
            startCounter(session.sandbox());
            first.commit(position(1));
            Turn second = session.beginTurn();
            assertThat(ask(session.sandbox())).isEqualTo(2);
            run(session.sandbox(), "echo 2 >/srv/two");
            session.sandbox().attributes().put("test", "two");
            second.commit(position(2));
            Turn third = session.beginTurn();
            third.commit(position(3));
            Turn fourth = session.beginTurn();
            assertThat(ask(session.sandbox())).isEqualTo(3);
            run(session.sandbox(), "echo later >/srv/later");
            session.sandbox().attributes().put("test", "three");
            assertThat(fourth.commit(position(4)).commit().generation()).isEqualTo(3);
        }
    }

    private static Path manifest(String id, long generation) {
        return CheckpointStore.manifests(fixture.runtime().data(), id).file(generation);
    }

    private static Path object(String id, long generation, String kind) throws IOException {
        try (Stream<Path> files = Files.walk(fixture.runtime().data().objects())) {
            String name = id + ".g" + generation + "." + kind;
            return files.filter(file -> file.getFileName().toString().equals(name))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Puts a part of another generation's checkpoint into a manifest, with the right checksum over it. */
    private static void mix(Path file, Path other, String part) throws IOException {
        ObjectMapper json = new ObjectMapper();
        ObjectNode tree = (ObjectNode) json.readTree(file.toFile()).get("manifest");
        ((ObjectNode) tree.get("checkpoint"))
                .set(part, json.readTree(other.toFile()).at("/manifest/checkpoint/" + part));
        byte[] payload = json.writeValueAsBytes(tree);
        try {
            String sum = HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(payload));
            Files.writeString(
                    file,
                    "{\"format\":\"crab-manifest\",\"version\":" + tree.get("version") + ",\"length\":" + payload.length
                            + ",\"sha256\":\"" + sum + "\",\"manifest\":" + new String(payload, StandardCharsets.UTF_8)
                            + "}\n");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Gives the content before. */
    private static byte[] inflict(Damage damage, String id, long generation) throws IOException {
        Path file = switch (damage) {
            case MANIFEST_FLIPPED,
                    MANIFEST_MISSING,
                    MANIFEST_IS_A_DIRECTORY,
                    MANIFEST_WITH_OLDER_PROCESSES,
                    MANIFEST_WITH_OLDER_FILES -> manifest(id, generation);
            case DUMP_FLIPPED, DUMP_CUT -> object(id, generation, "dump");
            case FILE_TABLE_FLIPPED, FILE_TABLE_MISSING -> object(id, generation, "files");
            case SNAPSHOT_MISSING, SNAPSHOT_CHANGED -> fixture.data();
        };
        byte[] before = Files.isRegularFile(file) ? Files.readAllBytes(file) : new byte[0];
        byte[] flipped = before.clone();
        switch (damage) {
            case MANIFEST_FLIPPED, DUMP_FLIPPED, FILE_TABLE_FLIPPED -> {
                flipped[before.length / 2] ^= 1;
                Files.write(file, flipped);
            }
            case DUMP_CUT -> Files.write(file, java.util.Arrays.copyOf(before, before.length / 2));
            case MANIFEST_MISSING, FILE_TABLE_MISSING -> Files.delete(file);
            case MANIFEST_IS_A_DIRECTORY -> {
                Files.delete(file);
                Files.createDirectories(file.resolve("full"));
            }
            case MANIFEST_WITH_OLDER_PROCESSES -> mix(file, manifest(id, generation - 1), "processes");
            case MANIFEST_WITH_OLDER_FILES -> mix(file, manifest(id, generation - 1), "files");
            case SNAPSHOT_MISSING, SNAPSHOT_CHANGED -> {
                try (Snapshotter snapshots = BtrfsSnapshotter.open(fixture.data())) {
                    String name = id + ".g" + generation;
                    Path snapshot = snapshots.find(name).directory();
                    if (damage == Damage.SNAPSHOT_CHANGED) {
                        // Another one in its place, in which a single byte is different.
                        Path parent = java.util.Objects.requireNonNull(snapshot.getParent());
                        Btrfs.snapshot(snapshot, parent, name + ".other", false);
                        Files.writeString(parent.resolve(name + ".other/upper/srv/later"), "lateR\n");
                        Btrfs.deleteSubvolume(parent, name);
                        Btrfs.snapshot(parent.resolve(name + ".other"), parent, name, true);
                        Btrfs.deleteSubvolume(parent, name + ".other");
                    } else {
                        snapshots.delete(snapshots.find(name));
                    }
                }
            }
        }
        return before;
    }
}
