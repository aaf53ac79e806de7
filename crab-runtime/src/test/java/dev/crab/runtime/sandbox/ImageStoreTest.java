package dev.crab.runtime.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.github.luben.zstd.ZstdOutputStream;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImageStoreTest {
    @TempDir
    Path directory;

    private ImageStore store() {
        return new ImageStore(directory.resolve("images"));
    }

    private interface Compressor {
        OutputStream wrap(OutputStream out) throws IOException;
    }

    /** A small root with a shell, device nodes in and outside of /dev, links out of the root, an owner and a set-uid bit. */
    private Path archive(String name, Compressor compressor) throws IOException {
        Path archive = directory.resolve(name);
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(compressor.wrap(Files.newOutputStream(archive)))) {
            file(tar, "./usr/bin/sh", "#!", 04755, 7);
            link(tar, "./bin", "/usr/bin");
            link(tar, "./out", "../../../../../..");
            node(tar, "./dev/sda", TarConstants.LF_BLK, 254, 0);
            node(tar, "./dev/null", TarConstants.LF_CHR, 1, 3);
            node(tar, "./srv/disk", TarConstants.LF_BLK, 254, 0);
            node(tar, "./srv/fifo", TarConstants.LF_FIFO, 0, 0);
        }
        return archive;
    }

    private static void file(TarArchiveOutputStream tar, String name, String content, int mode, int uid)
            throws IOException {
        byte[] bytes = content.getBytes(StandardCharsets.UTF_8);
        TarArchiveEntry entry = new TarArchiveEntry(name);
        entry.setSize(bytes.length);
        entry.setMode(mode);
        entry.setUserId(uid);
        tar.putArchiveEntry(entry);
        tar.write(bytes);
        tar.closeArchiveEntry();
    }

    private static void link(TarArchiveOutputStream tar, String name, String target) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, TarConstants.LF_SYMLINK);
        entry.setLinkName(target);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    private static void node(TarArchiveOutputStream tar, String name, byte type, int major, int minor)
            throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, type);
        entry.setDevMajor(major);
        entry.setDevMinor(minor);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    @Test
    void tarball_isUnpackedOnce_withoutItsDeviceNodes() throws Exception {
        for (Path archive : List.of(
                archive("plain.tar", out -> out),
                archive("g.tar.gz", GZIPOutputStream::new),
                archive("z.tar.zst", ZstdOutputStream::new))) {
            Path root = store().resolve(new SandboxImage.Tarball(archive));

            assertThat(Files.getAttribute(root.resolve("usr/bin/sh"), "unix:mode"))
                    .isEqualTo(0104755);
            assertThat(Files.getAttribute(root.resolve("usr/bin/sh"), "unix:uid"))
                    .isEqualTo(7);
            assertThat(Files.readSymbolicLink(root.resolve("bin"))).isEqualTo(Path.of("/usr/bin"));
            assertThat(root.resolve("srv/fifo")).exists();
            assertThat(root.resolve("srv/disk")).doesNotExist();
            assertThat(root.resolve("dev/sda")).doesNotExist();
            assertThat(root.resolve("dev/null")).doesNotExist();
            assertThat(store().resolve(new SandboxImage.Tarball(archive))).isEqualTo(root);
        }
        try (var images = Files.list(directory.resolve("images"))) {
            assertThat(images.map(path -> path.getFileName().toString()))
                    .allMatch(name -> name.matches("tar-[0-9a-f]{64}"));
        }
    }

    @Test
    void tarball_thatIsDamaged_isInvalid_andLeavesNothing() throws Exception {
        Path whole = archive("whole.tar.gz", GZIPOutputStream::new);
        Path cut = directory.resolve("cut.tar.gz");
        byte[] bytes = Files.readAllBytes(whole);
        Files.write(cut, java.util.Arrays.copyOf(bytes, bytes.length / 2));
        Path zstd = archive("whole.tar.zst", ZstdOutputStream::new);
        Path cutZstd = directory.resolve("cut.tar.zst");
        byte[] zstdBytes = Files.readAllBytes(zstd);
        Files.write(cutZstd, java.util.Arrays.copyOf(zstdBytes, zstdBytes.length / 2));
        Path text = Files.writeString(directory.resolve("text.tar"), "no archive at all".repeat(100));

        for (Path archive : List.of(cut, cutZstd, text)) {
            fails(ErrorCode.IMAGE_INVALID, new SandboxImage.Tarball(archive));
        }

        try (var images = Files.list(directory.resolve("images"))) {
            assertThat(images).isEmpty();
        }
    }

    @Test
    void image_withoutAShell_isInvalid() throws Exception {
        Path root = Files.createDirectories(directory.resolve("empty"));
        fails(ErrorCode.IMAGE_INVALID, new SandboxImage.Directory(root));

        Files.createDirectories(root.resolve("bin"));
        Files.createSymbolicLink(root.resolve("bin/sh"), Path.of("/no-such-program"));
        fails(ErrorCode.IMAGE_INVALID, new SandboxImage.Directory(root));

        Files.createFile(root.resolve("no-such-program"));
        assertThat(store().resolve(new SandboxImage.Directory(root))).isEqualTo(root);
    }

    @Test
    void image_withADeviceOfTheHost_isInvalid() throws Exception {
        Path root = Files.createDirectories(directory.resolve("image"));
        Files.createDirectories(root.resolve("bin"));
        Files.createFile(root.resolve("bin/sh"));
        Process mknod = new ProcessBuilder("mknod", root.resolve("disk").toString(), "b", "7", "0").start();
        assertThat(mknod.waitFor()).isZero();

        fails(ErrorCode.IMAGE_INVALID, new SandboxImage.Directory(root));
    }

    @Test
    void image_thatIsNotThere_isNotFound_withItsCure() {
        fails(ErrorCode.IMAGE_NOT_FOUND, new SandboxImage.Directory(directory.resolve("none")));
        fails(ErrorCode.IMAGE_NOT_FOUND, new SandboxImage.Tarball(directory.resolve("none.tar")));
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> store().resolve(new SandboxImage.Debian()))
                .satisfies(e -> assertThat(e.cure()).contains("crab setup"));
    }

    @Test
    void debianImage_thatWasNotFinished_isNotFound() throws Exception {
        Files.createDirectories(directory.resolve("images/debian/bin"));
        Files.createFile(directory.resolve("images/debian/bin/sh"));
        fails(ErrorCode.IMAGE_NOT_FOUND, new SandboxImage.Debian());

        Files.createFile(directory.resolve("images/debian.complete"));
        assertThat(store().resolve(new SandboxImage.Debian())).isEqualTo(directory.resolve("images/debian"));
    }

    private void fails(ErrorCode code, SandboxImage image) {
        assertThatExceptionOfType(CrabException.class)
                .isThrownBy(() -> store().resolve(image))
                .satisfies(e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
    }
}
