package dev.crab.runtime.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.runtime.os.FileTree;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DigestsBesideTest {
    private static final int FILES = 3000;

    @TempDir
    @SuppressWarnings("NullAway.Init") // set by JUnit
    Path directory;

    private final List<String> expected = new ArrayList<>();

    @BeforeEach
    void makeFiles() throws Exception {
        Random random = new Random(1);
        for (int i = 0; i < FILES; i++) {
            Path parent = Files.createDirectories(directory.resolve("d" + (char) ('a' + i / 100)));
            byte[] content = new byte[i % 997 == 20 ? 1 << 20 : random.nextInt(3000)];
            random.nextBytes(content);
            Files.write(parent.resolve(String.format("%04d", i)), content);
        }
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path one : all.sorted().toList()) {
                String path = one.equals(directory) ? "" : "/" + directory.relativize(one);
                expected.add(Files.isDirectory(one) ? path : path + " " + sha256(Files.readAllBytes(one)));
            }
        }
    }

    private static String sha256(byte[] content) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
    }

    private static String path(FileTree.Entry entry) {
        return new String(entry.path(), StandardCharsets.UTF_8);
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("crab-digests"))
                .count();
    }

    private long openFiles() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.filter(fd -> {
                        try {
                            return Files.readSymbolicLink(fd).startsWith(directory);
                        } catch (IOException e) {
                            return false; // closed meanwhile
                        }
                    })
                    .count();
        }
    }

    @Test
    void digestsComeInTheOrderOfTheWalk() throws IOException {
        List<String> found = new ArrayList<>();
        List<Thread> by = new ArrayList<>();
        try (DigestsBeside digests = new DigestsBeside()) {
            FileTree.walk(directory, entry -> {
                String path = path(entry);
                if (entry.type() == FileTree.Entry.Type.FILE) {
                    digests.digest(entry, digest -> {
                        found.add(path + " " + digest);
                        by.add(Thread.currentThread());
                    });
                } else {
                    digests.then(none -> found.add(path));
                }
            });
            digests.finish();
        }

        assertThat(found).isEqualTo(expected);
        assertThat(by).containsOnly(Thread.currentThread());
        assertThat(threads()).isZero();
        assertThat(openFiles()).isZero();
    }

    @Test
    void aWalkThatIsBrokenOff_leavesNoThreadAndNoOpenFile() throws IOException {
        assertThatThrownBy(() -> {
                    try (DigestsBeside digests = new DigestsBeside()) {
                        FileTree.walk(directory, entry -> {
                            if (entry.type() == FileTree.Entry.Type.FILE) {
                                digests.digest(entry, digest -> {});
                            }
                            if (path(entry).endsWith("/2500")) {
                                throw new IOException("enough");
                            }
                        });
                    }
                })
                .isInstanceOf(IOException.class)
                .hasMessage("enough");

        assertThat(threads()).isZero();
        assertThat(openFiles()).isZero();
    }

    @Test
    void aFileThatCannotBeReadToItsEnd_isTheWalksFailure() throws IOException {
        for (String shrinking : List.of("0003", "2500")) {
            assertThatThrownBy(() -> {
                        try (DigestsBeside digests = new DigestsBeside()) {
                            FileTree.walk(directory, entry -> {
                                if (entry.type() == FileTree.Entry.Type.FILE) {
                                    if (path(entry).endsWith(shrinking)) {
                                        Files.write(
                                                directory.resolve(path(entry).substring(1)), new byte[0]);
                                    }
                                    digests.digest(entry, digest -> {});
                                }
                            });
                            digests.finish();
                        }
                    })
                    .as(shrinking)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(shrinking);
        }
        assertThat(threads()).isZero();
        assertThat(openFiles()).isZero();
    }
}
