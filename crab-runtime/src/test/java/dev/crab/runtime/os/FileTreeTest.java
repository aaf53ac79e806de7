package dev.crab.runtime.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileTreeTest {
    @TempDir
    private Path root;

    private List<String> paths() throws IOException {
        List<String> paths = new ArrayList<>();
        FileTree.walk(root, entry -> paths.add(new String(entry.path(), StandardCharsets.ISO_8859_1)));
        return paths;
    }

    private Map<String, String> digests() throws IOException {
        Map<String, String> digests = new HashMap<>();
        FileTree.walk(root, entry -> {
            if (entry.type() == FileTree.Entry.Type.FILE) {
                digests.put(new String(entry.path(), StandardCharsets.UTF_8), entry.sha256());
            }
        });
        return digests;
    }

    private void shell(String command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder("/bin/bash", "-c", command)
                .directory(root.toFile())
                .inheritIO()
                .start();
        assertThat(process.waitFor()).isZero();
    }

    @Test
    void order_isDirectoriesFirstAndNamesAsBytes() throws Exception {
        shell("mkdir -p a/x b a-b; touch a/x/1 a/y a.txt Z $'\\xff' é");
        assertThat(paths())
                .containsExactly(
                        "", "/Z", "/a", "/a/x", "/a/x/1", "/a/y", "/a-b", "/a.txt", "/b", "/\u00c3\u00a9", "/\u00ff");
    }

    @Test
    void names_areBytes() throws Exception {
        shell("touch $'new\\nline' $'bad\\xff\\xfe' $'\\x80' ' '");
        assertThat(paths()).contains("/new\nline", "/bad\u00ff\u00fe", "/\u0080", "/ ");
    }

    @Test
    void links_areNeverFollowed() throws Exception {
        shell("mkdir d; ln -s d slash; ln -s d/loop d/loop; ln -s $'odd\\xfftarget' odd");
        List<String> targets = new ArrayList<>();
        FileTree.walk(root, entry -> {
            if (entry.type() == FileTree.Entry.Type.SYMLINK) {
                targets.add(new String(entry.target(), StandardCharsets.ISO_8859_1));
            }
        });
        assertThat(targets).containsExactly("d/loop", "odd\u00fftarget", "d");
        assertThat(paths()).hasSize(5);
    }

    @Test
    void paths_mayBeLongerThanTheKernelTakesAtOnce() throws Exception {
        String name = "n".repeat(200);
        shell("for i in $(seq 60); do mkdir " + name + " && cd -P " + name + " || exit 1; done; echo deep > file");
        List<String> paths = paths();
        assertThat(paths).hasSize(62);
        assertThat(paths.get(61)).hasSize(60 * 201 + "/file".length());
        assertThat(digests().values()).containsExactly(sha256("deep\n".getBytes(StandardCharsets.UTF_8)));
        shell("rm -rf " + name);
    }

    /** A thread with little stack: calls within calls for each directory would not fit into it. */
    @Test
    void depth_isBounded() throws Exception {
        try {
            shell("p=$(printf %.0sd/ $(seq 500)); for i in 1 2 3 4; do mkdir -p $p && cd -P $p || exit 1; done");
            assertThat(onSmallStack(this::paths)).hasSize(FileTree.MAX_DEPTH + 1);
            shell("p=$(printf %.0sd/ $(seq 500)); for i in 1 2 3 4; do cd -P $p || exit 1; done; mkdir d");
            assertThatExceptionOfType(CrabException.class)
                    .isThrownBy(() -> onSmallStack(this::paths))
                    .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.LIMIT_EXCEEDED))
                    .satisfies(e -> assertThat(e.why()).contains("2000").hasSizeLessThan(200));
        } finally {
            shell("rm -rf d"); // too deep for what removes the test's directory
        }
    }

    private static <T> T onSmallStack(Callable<T> action) throws Exception {
        FutureTask<T> task = new FutureTask<>(action);
        new Thread(null, task, "small-stack", 200_000).start();
        try {
            return task.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    @Test
    void digest_isThatOfTheContent() throws Exception {
        byte[] whole = new byte[(int) FileTree.PLAIN_DIGEST_LIMIT];
        for (int i = 0; i < whole.length; i++) {
            whole[i] = (byte) (i * 31 + i / 251);
        }
        Files.write(root.resolve("empty"), new byte[0]);
        Files.write(root.resolve("odd"), "abc".getBytes(StandardCharsets.UTF_8));
        Files.write(root.resolve("whole"), whole);
        assertThat(digests())
                .containsEntry("/empty", sha256(new byte[0]))
                .containsEntry("/odd", sha256("abc".getBytes(StandardCharsets.UTF_8)))
                .containsEntry("/whole", sha256(whole));
    }

    @Test
    void digestOfALongFile_dependsOnContentAndNotOnHoles() throws Exception {
        long size = FileTree.PLAIN_DIGEST_LIMIT * 3 + 5;
        sparse("holes", size, 300_000, 1);
        Files.write(root.resolve("written"), Files.readAllBytes(root.resolve("holes")));
        sparse("moved", size, 300_001, 1);
        sparse("other", size, 300_000, 2);
        sparse("longer", size + 1, 300_000, 1);
        Map<String, String> digests = digests();
        assertThat(digests.get("/written")).isEqualTo(digests.get("/holes"));
        assertThat(digests.get("/holes")).isNotIn(digests.get("/moved"), digests.get("/other"), digests.get("/longer"));
        MessageDigest expected = MessageDigest.getInstance("SHA-256");
        byte[] block = new byte[1 << 17];
        block[300_000 - 2 * (1 << 17)] = 1;
        expected.update(ByteBuffer.allocate(8).putLong(2L << 17).array());
        expected.update(block);
        expected.update(ByteBuffer.allocate(8).putLong(size).array());
        assertThat(digests.get("/holes")).isEqualTo(HexFormat.of().formatHex(expected.digest()));
    }

    @Test
    void attributesLinksAndOwners_areTold() throws Exception {
        shell("echo x > f; ln f g; chmod 4751 f; chown 12:34 f; touch -d @1.5 f; mkfifo p; mknod c c 7 9");
        Files.getFileAttributeView(root.resolve("f"), java.nio.file.attribute.UserDefinedFileAttributeView.class)
                .write("note", ByteBuffer.wrap(new byte[] {0, 1, -1}));
        Map<String, FileTree.Entry> entries = new HashMap<>();
        FileTree.walk(root, entry -> entries.put(new String(entry.path(), StandardCharsets.UTF_8), entry));
        FileTree.Entry f = Objects.requireNonNull(entries.get("/f"));
        assertThat(f.permissions()).isEqualTo(0751); // chown took the set-user-id bit
        assertThat(f.links()).isEqualTo(2);
        assertThat(f.inode())
                .isEqualTo(Objects.requireNonNull(entries.get("/g")).inode());
        assertThat(List.of(f.uid(), f.gid())).containsExactly(12L, 34L);
        assertThat(f.modifiedSeconds()).isEqualTo(1);
        assertThat(f.modifiedNanos()).isEqualTo(500_000_000);
        assertThat(f.attributes()).containsOnlyKeys("user.note").containsEntry("user.note", new byte[] {0, 1, -1});
        assertThat(Objects.requireNonNull(entries.get("/p")).type()).isEqualTo(FileTree.Entry.Type.FIFO);
        assertThat(Objects.requireNonNull(entries.get("/c")).deviceMajor()).isEqualTo(7);
        assertThat(Objects.requireNonNull(entries.get("/c")).deviceMinor()).isEqualTo(9);
    }

    @Test
    void content_canBeAskedForOnlyDuringTheVisit() throws Exception {
        Files.writeString(root.resolve("f"), "x");
        List<FileTree.Entry> kept = new ArrayList<>();
        FileTree.walk(root, kept::add);
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> kept.get(1).sha256());
    }

    @Test
    void root_thatIsMissingOrALinkIsRefused() throws IOException {
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> FileTree.walk(root.resolve("none"), entry -> {}));
        Files.createSymbolicLink(root.resolve("link"), root);
        assertThatExceptionOfType(IOException.class).isThrownBy(() -> FileTree.walk(root.resolve("link"), entry -> {}));
    }

    private void sparse(String name, long size, long at, int value) throws IOException {
        try (FileChannel channel =
                FileChannel.open(root.resolve(name), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[] {0}), size - 1);
            channel.write(ByteBuffer.wrap(new byte[] {(byte) value}), at);
        }
    }

    private static String sha256(byte[] bytes) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }
}
