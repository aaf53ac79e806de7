package dev.crab.runtime.inspector;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.os.Btrfs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What btrfs says has changed of a layer, and what a walk finds, must be the same. Needs root and btrfs. */
class LayerUpdateTest {
    private static final int FILES = 600;
    private static final int ROUNDS = 40;
    private static final int NEVER = Integer.MAX_VALUE;

    /** Maps the files that come in by path and changes the first byte of each. */
    private static final String MAPPER = """
            import mmap, os, sys
            maps = {}
            for line in sys.stdin:
                path = line.rstrip("\\n")
                file = os.open(path, os.O_RDWR)
                inode = os.fstat(file).st_ino
                if inode not in maps:
                    maps[inode] = mmap.mmap(file, 0)
                os.close(file)
                maps[inode][0] ^= 1
                print("done", flush=True)
            """;

    @TempDir
    private Path directory;

    private TestVolume volume;
    private Path image;
    private Process mapper;

    @BeforeEach
    void mount() throws IOException {
        volume = new TestVolume(Files.createDirectory(directory.resolve("btrfs")));
        image = Files.createDirectory(directory.resolve("image"));
        for (int i = 0; i < FILES; i++) {
            Path parent = Files.createDirectories(volume.upper().resolve("d" + i % 7 + "/e" + i % 3));
            Files.writeString(parent.resolve("f" + i), "first " + i);
            if (i % 20 == 0) {
                Files.createDirectories(image.resolve("d" + i % 7));
                Files.writeString(image.resolve("d" + i % 7 + "/f" + i), "image " + i);
            }
        }
        mapper = new ProcessBuilder("/usr/bin/python3", "-c", MAPPER)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Btrfs.sync(volume.directory()); // what follows is in a later transaction
    }

    @AfterEach
    void unmount() throws IOException, InterruptedException {
        mapper.destroyForcibly().waitFor();
        volume.close();
    }

    private UpperFiles files(int walked) {
        return new UpperFiles(target(volume.scratch()), FilePolicy.EVERYTHING, walked);
    }

    private InspectionTarget target(Path scratch) {
        return new InspectionTarget("test", directory, 1, volume.upper(), image, scratch);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void randomOperations_leaveWhatAWalkFinds(long seed) throws IOException {
        Random random = new Random(seed);
        try (UpperFiles asked = files(0);
                UpperFiles walked = files(NEVER)) {
            for (int round = 0; round < ROUNDS; round++) {
                if (round % 3 == 0) {
                    asked.scan();
                    walked.scan();
                    asked.rebase();
                    walked.rebase();
                }
                List<String> done = new ArrayList<>();
                for (int i = random.nextInt(6); i >= 0; i--) {
                    done.add(operate(random));
                }
                asked.scan();
                walked.scan();
                assertThat(asked.current())
                        .as("seed %s, round %s: %s", seed, round, done)
                        .isEqualTo(walked.current());
                assertThat(asked.changes(Set.of(), false))
                        .as("seed %s, round %s: %s", seed, round, done)
                        .containsExactlyInAnyOrderElementsOf(walked.changes(Set.of(), false));
            }
            assertThat(asked.updates()).isGreaterThan(ROUNDS);
            assertThat(walked.updates()).isZero();
        }
        assertThat(volume.scratch()).doesNotExist();
    }

    /** Does something at random, through the layer itself; returns what. */
    private String operate(Random random) throws IOException {
        List<Path> files = paths(false);
        List<Path> directories = paths(true);
        Path file = files.get(random.nextInt(files.size()));
        Path parent = directories.get(random.nextInt(directories.size()));
        Path other = directories.get(random.nextInt(directories.size()));
        Path fresh = parent.resolve("n" + random.nextInt(1_000_000));
        boolean movable = !parent.equals(volume.upper()) && !other.equals(volume.upper());
        int operation = random.nextInt(20);
        switch (operation) {
            case 0 -> Files.writeString(file, "again " + random.nextInt());
            case 1 -> Files.writeString(file, "more", StandardOpenOption.APPEND);
            case 2 -> sameSizeAndTime(file);
            case 3 ->
                Files.setPosixFilePermissions(
                        file, PosixFilePermissions.fromString(random.nextBoolean() ? "rw-------" : "rw-r--r--"));
            case 4 -> Files.createLink(fresh, file);
            case 5 -> Files.createSymbolicLink(fresh, Path.of("nowhere"));
            case 6 -> Files.move(file, fresh);
            case 7 -> Files.move(file, files.get(random.nextInt(files.size())), StandardCopyOption.REPLACE_EXISTING);
            case 8 -> Files.delete(file);
            case 9 -> tree(fresh);
            case 10 -> attribute(file, random.nextBoolean());
            case 11 -> attribute(parent, random.nextBoolean());
            case 12 -> mapped(file);
            case 13 -> {
                if (movable && !other.startsWith(parent)) {
                    Files.move(parent, other.resolve("m" + random.nextInt(1_000_000)));
                }
            }
            case 14 -> {
                if (movable && !other.startsWith(parent) && !parent.startsWith(other)) {
                    exchange(parent, other);
                }
            }
            case 15 -> {
                if (movable && directories.size() > 12) {
                    delete(parent);
                    if (random.nextBoolean()) {
                        tree(parent);
                    }
                }
            }
            case 16 -> TestSandbox.run("mknod", fresh.toString(), "c", "0", "0");
            case 17 -> TestSandbox.run("chattr", random.nextBoolean() ? "+A" : "-A", file.toString());
            case 18 ->
                Files.setPosixFilePermissions(
                        parent, PosixFilePermissions.fromString(random.nextBoolean() ? "rwx------" : "rwxr-xr-x"));
            default -> {
                Files.writeString(fresh, "gone");
                Files.delete(fresh);
            }
        }
        return operation + " of " + file + ", " + parent + ", " + other + ", " + fresh;
    }

    private List<Path> paths(boolean directories) throws IOException {
        try (Stream<Path> all = Files.walk(volume.upper())) {
            return all.filter(path -> directories
                            ? Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)
                            : Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS))
                    .sorted()
                    .toList();
        }
    }

    private static void sameSizeAndTime(Path file) throws IOException {
        FileTime time = Files.getLastModifiedTime(file);
        byte[] bytes = Files.readAllBytes(file);
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] ^= 1;
        }
        Files.write(file, bytes, StandardOpenOption.WRITE);
        Files.setLastModifiedTime(file, time);
    }

    private static void tree(Path at) throws IOException {
        Files.createDirectories(at.resolve("a/b"));
        Files.writeString(at.resolve("a/b/c"), "c");
        Files.createLink(at.resolve("d"), at.resolve("a/b/c"));
    }

    private static void attribute(Path file, boolean set) throws IOException {
        UserDefinedFileAttributeView view = Files.getFileAttributeView(file, UserDefinedFileAttributeView.class);
        if (set) {
            view.write("x", StandardCharsets.UTF_8.encode("value " + System.nanoTime()));
        } else if (view.list().contains("x")) {
            view.delete("x");
        }
    }

    /** Has another process change a byte through a mapping, which it keeps; the JVM would keep it until it happens to collect it. */
    private void mapped(Path file) throws IOException {
        mapper.outputWriter().write(file + "\n");
        mapper.outputWriter().flush();
        assertThat(mapper.inputReader().readLine()).isEqualTo("done");
    }

    private static void exchange(Path one, Path other) throws IOException {
        Path aside = one.resolveSibling("aside");
        Files.move(one, aside);
        Files.move(other, one);
        Files.move(aside, other);
    }

    private static void delete(Path tree) throws IOException {
        try (Stream<Path> all = Files.walk(tree)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    @Test
    void oneChange_isReadAlone_andAWriteThatLeavesNoTraceInMetadataIsFound() throws IOException {
        Path file = volume.upper().resolve("d0/e0/f0");
        ChangedInodes inodes = Objects.requireNonNull(ChangedInodes.of(target(volume.scratch())));
        ChangedInodes.Answer first = ask(inodes, inodes.now());
        assertThat(ask(inodes, first.next()).inodes()).isEmpty();
        sameSizeAndTime(file);
        assertThat(ask(inodes, first.next()).inodes()).containsExactly((Long) Files.getAttribute(file, "unix:ino"));
        assertThat(ask(inodes, first.next(), 0).inodes()).isNull();
        // What was mapped and written before is found again when it is written again.
        long next = ask(inodes, inodes.now()).next();
        for (int i = 0; i < 3; i++) {
            mapped(file);
            ChangedInodes.Answer answer = ask(inodes, next);
            assertThat(answer.inodes()).hasSize(1);
            next = answer.next();
            assertThat(ask(inodes, next).inodes()).isEmpty();
        }
    }

    private static ChangedInodes.Answer ask(ChangedInodes inodes, long transaction) {
        return ask(inodes, transaction, 2 * FILES);
    }

    private static ChangedInodes.Answer ask(ChangedInodes inodes, long transaction, int most) {
        return Objects.requireNonNull(inodes.since(transaction, most));
    }

    @Test
    void leftoverOfACrash_isNoHindrance() throws IOException {
        try (UpperFiles asked = files(0)) {
            asked.scan();
            asked.scan();
            asked.rebase();
            long before = asked.updates();
            TestSandbox.run(
                    "btrfs",
                    "-q",
                    "subvolume",
                    "snapshot",
                    "-r",
                    volume.directory().toString(),
                    volume.scratch().toString());
            Files.writeString(volume.upper().resolve("n"), "n");
            asked.scan();
            assertThat(asked.changes(Set.of(), false)).hasSize(1);
            assertThat(asked.updates()).isEqualTo(before + 1);
        }
        assertThat(volume.scratch()).doesNotExist();
    }

    @Test
    void whereNobodyCanBeAsked_theLayerIsWalked() throws IOException {
        InspectionTarget noPlace = target(volume.scratch().resolve("nowhere/at-all"));
        InspectionTarget noSubvolume =
                new InspectionTarget("test", directory, 1, volume.upper().resolve("d0"), image, volume.scratch());
        for (InspectionTarget target : List.of(noPlace, noSubvolume)) {
            try (UpperFiles files = new UpperFiles(target, FilePolicy.EVERYTHING, 0)) {
                files.scan();
                files.rebase();
                Files.writeString(target.upper().resolve("n"), "n");
                files.scan();
                assertThat(files.changes(Set.of(), false)).hasSize(1);
                assertThat(files.updates()).isZero();
                Files.delete(target.upper().resolve("n"));
            }
        }
    }

    @Test
    void subvolumeWithinTheLayer_isWalked() throws IOException {
        try (UpperFiles asked = files(0)) {
            asked.scan();
            asked.rebase();
            Path nested = volume.upper().resolve("d1/nested");
            TestSandbox.run("btrfs", "-q", "subvolume", "create", nested.toString());
            for (String name : List.of("a", "b")) {
                Files.writeString(nested.resolve(name), name);
                asked.scan();
                assertThat(asked.changes(Set.of(), false))
                        .extracting(FileChange::path)
                        .contains("/d1/nested/" + name);
            }
            assertThat(asked.updates()).isZero();
        }
    }
}
