package dev.crab.samples.common;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiskUseTest {
    @TempDir
    Path root;

    @Test
    void wholeBlocks_ofWhatCounts_onceForAllItsNames() throws Exception {
        Path one = Files.write(Files.createDirectories(root.resolve("a/b")).resolve("one"), new byte[4097]);
        Files.createLink(root.resolve("two"), one);
        Files.write(root.resolve("not"), new byte[1]);
        Files.createSymbolicLink(root.resolve("link"), one);

        assertThat(new DiskUse(file -> !file.toString().equals("not"))
                        .add(root)
                        .add(root.resolve("a"))
                        .bytes())
                .isEqualTo(8192);
    }

    @Test
    void directoryThatIsNotThere_isNothing() {
        assertThat(new DiskUse(file -> true).add(root.resolve("gone")).bytes()).isZero();
    }

    /** Other sessions of the same data directory go on meanwhile. */
    @Test
    void filesAndDirectoriesThatVanish_areNoFailure() throws Exception {
        Files.write(root.resolve("stays"), new byte[1]);
        AtomicBoolean done = new AtomicBoolean();
        CompletableFuture<Void> others = CompletableFuture.runAsync(() -> {
            try {
                while (!done.get()) {
                    for (int i = 0; i < 20; i++) {
                        Files.write(Files.createDirectory(root.resolve("d" + i)).resolve("file"), new byte[1]);
                    }
                    for (int i = 0; i < 20; i++) {
                        Files.delete(root.resolve("d" + i).resolve("file"));
                        Files.delete(root.resolve("d" + i));
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        try {
            for (int i = 0; i < 500; i++) {
                assertThat(new DiskUse(file -> true).add(root).bytes()).isBetween(4096L, 21 * 4096L);
            }
        } finally {
            done.set(true);
            others.get();
        }
    }
}
