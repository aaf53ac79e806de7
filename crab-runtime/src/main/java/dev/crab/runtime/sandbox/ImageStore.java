package dev.crab.runtime.sandbox;

import com.github.luben.zstd.ZstdInputStream;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.NativeFd;
import dev.crab.runtime.os.RootedPath;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Root file systems by image source. Thread-safe. */
final class ImageStore {
    private static final byte[] ZSTD_MAGIC = {0x28, (byte) 0xb5, 0x2f, (byte) 0xfd};

    private final Path images;
    private final Set<Path> checked = ConcurrentHashMap.newKeySet();

    ImageStore(Path images) {
        this.images = images;
    }

    Path resolve(SandboxImage image) {
        if (image instanceof SandboxImage.Directory directory) {
            return usable(directory.path(), "give the directory that holds the root file system");
        }
        if (image instanceof SandboxImage.Tarball tarball) {
            return usable(unpacked(tarball.path()), "give a tar archive of a root file system");
        }
        String cure = "run ./crab setup --data " + images.getParent() + ", which builds it";
        if (!Files.exists(images.resolve("debian.complete"))) {
            throw notFound(images.resolve("debian"), cure);
        }
        return usable(images.resolve("debian"), cure);
    }

    private Path usable(Path path, String cure) {
        Path root = path.toAbsolutePath().normalize();
        if (!Files.isDirectory(root)) {
            throw notFound(root, cure);
        }
        if (!checked.contains(root)) {
            checkShell(root);
            DeviceNodes.reject(root);
            checked.add(root);
        }
        return root;
    }

    private static void checkShell(Path root) {
        try (NativeFd top = RootedPath.openRoot(root)) {
            for (String shell : List.of("bin/bash", "bin/sh")) {
                try (NativeFd found = RootedPath.openFollowing(top, shell)) {
                    if (found.number() >= 0) {
                        return;
                    }
                } catch (IOException e) {
                    // the other one may be there
                }
            }
        } catch (IOException e) {
            throw CrabException.io("image " + root + " cannot be read", e);
        }
        throw invalid(root, "it holds neither /bin/bash nor /bin/sh", "give the root of a whole file system");
    }

    /** The directory that the archive is or was unpacked to; its name is the archive's digest, so that equal archives share it. */
    private synchronized Path unpacked(Path archive) {
        if (!Files.isRegularFile(archive)) {
            throw notFound(archive, "give a tar archive that exists");
        }
        try {
            Path target = images.resolve("tar-" + digest(archive));
            if (Files.isDirectory(target)) {
                return target;
            }
            Files.createDirectories(
                    images, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            Path partial = images.resolve(target.getFileName() + ".partial-" + UUID.randomUUID());
            Files.createDirectory(partial);
            try {
                untar(archive, partial);
                DeviceNodes.delete(partial);
                Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                RunFiles.deleteTree(partial);
            }
            return target;
        } catch (IOException e) {
            throw CrabException.io("image " + archive + " could not be unpacked", e);
        }
    }

    private static String digest(Path archive) throws IOException {
        try (DigestInputStream in =
                new DigestInputStream(Files.newInputStream(archive), MessageDigest.getInstance("SHA-256"))) {
            in.transferTo(OutputStream.nullOutputStream());
            return HexFormat.of().formatHex(in.getMessageDigest().digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Unpacks by the distribution's tar, which knows about links that lead out, sparse files and attributes. Device nodes are not wanted:
     * those in /dev are left out, others it may fail to make, which is no failure here.
     */
    private static void untar(Path archive, Path target) throws IOException {
        boolean zstd = isZstd(archive);
        Process tar = new ProcessBuilder(
                        "tar",
                        "--extract",
                        "--numeric-owner",
                        "--same-permissions",
                        "--same-owner",
                        "--xattrs",
                        "--anchored",
                        "--exclude=dev/*",
                        "--exclude=./dev/*",
                        "--file=" + (zstd ? "-" : archive.toAbsolutePath()),
                        "--directory=" + target)
                .redirectErrorStream(true)
                .redirectInput(
                        zstd
                                ? ProcessBuilder.Redirect.PIPE
                                : ProcessBuilder.Redirect.from(
                                        Path.of("/dev/null").toFile()))
                .start();
        Feeder feeder = new Feeder(archive, tar.getOutputStream());
        if (zstd) {
            feeder.start();
        }
        String said;
        int status;
        try (InputStream out = tar.getInputStream()) {
            said = new String(out.readNBytes(64 << 10), StandardCharsets.UTF_8);
            out.transferTo(OutputStream.nullOutputStream());
            feeder.join();
            status = tar.waitFor();
        } catch (InterruptedException e) {
            tar.destroyForcibly();
            throw CrabException.interrupted("unpacking " + archive, e);
        }
        if (feeder.damage != null && status == 0) {
            throw invalid(archive, String.valueOf(feeder.damage.getMessage()), "give a whole archive");
        }
        boolean onlyDevices = said.lines()
                .allMatch(line -> line.contains("Cannot mknod") || line.contains("Exiting with failure status"));
        if (status != 0 && !(onlyDevices && !said.isEmpty())) {
            throw invalid(archive, "tar: " + said.strip(), "give a whole tar archive (plain, gzip, xz or zstd)");
        }
    }

    private static boolean isZstd(Path archive) throws IOException {
        try (InputStream in = Files.newInputStream(archive)) {
            return java.util.Arrays.equals(in.readNBytes(ZSTD_MAGIC.length), ZSTD_MAGIC);
        }
    }

    /** Unpacks zstd, which tar would need another program for, into tar's standard input. */
    private static final class Feeder extends Thread {
        private final Path archive;
        private final OutputStream out;
        private volatile @Nullable IOException damage;

        Feeder(Path archive, OutputStream out) {
            super("crab-unzstd");
            this.archive = archive;
            this.out = out;
        }

        @Override
        public void run() {
            try (out;
                    InputStream in = new ZstdInputStream(new BufferedInputStream(Files.newInputStream(archive)))) {
                in.transferTo(out);
            } catch (IOException e) {
                damage = e;
            }
        }
    }

    private static CrabException notFound(Path image, String cure) {
        return CrabException.of(
                ErrorCode.IMAGE_NOT_FOUND, "image " + image + " cannot be used", "it does not exist", cure);
    }

    private static CrabException invalid(Path image, String why, String cure) {
        return CrabException.of(ErrorCode.IMAGE_INVALID, "image " + image + " cannot be used", why, cure);
    }

    /** Device nodes in an image, which would be open to the sandbox: nothing but its capabilities keeps it from the host's devices. */
    private static final class DeviceNodes {
        /** major * 256 + minor of null, zero, full, random, urandom, tty, console, ptmx; 0 is an overlay's whiteout. */
        private static final Set<Integer> HARMLESS = Set.of(0, 0x103, 0x105, 0x107, 0x108, 0x109, 0x500, 0x501, 0x502);

        static void reject(Path root) {
            walk(root, file -> {
                throw invalid(
                        root, file + " is a device node", "remove it: a sandbox must reach no device of the host");
            });
        }

        static void delete(Path root) {
            walk(root, file -> {
                try {
                    Files.delete(file);
                } catch (IOException e) {
                    throw CrabException.io("device node " + file + " could not be removed", e);
                }
            });
        }

        private static void walk(Path root, java.util.function.Consumer<Path> found) {
            try {
                Files.walkFileTree(root, new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                        if (attributes.isOther() && isDangerous(file)) {
                            found.accept(file);
                        }
                        return FileVisitResult.CONTINUE;
                    }
                });
            } catch (IOException e) {
                throw CrabException.io("image " + root + " cannot be read", e);
            }
        }

        private static boolean isDangerous(Path file) throws IOException {
            int type = (Integer) Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 0170000;
            if (type == 0060000) {
                return true;
            }
            long device = (Long) Files.getAttribute(file, "unix:rdev", LinkOption.NOFOLLOW_LINKS);
            return type == 0020000 && !HARMLESS.contains((int) device);
        }
    }
}
