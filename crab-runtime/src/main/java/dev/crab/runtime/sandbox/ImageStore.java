package dev.crab.runtime.sandbox;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.file.Files;
import java.nio.file.Path;

/** Root file systems by image source. Thread-safe. */
final class ImageStore {
    private final Path images;

    ImageStore(Path images) {
        this.images = images;
    }

    Path resolve(SandboxImage image) {
        if (image instanceof SandboxImage.Directory directory) {
            return checked(directory.path(), "give the directory that holds the root file system");
        }
        if (image instanceof SandboxImage.Debian) {
            return checked(images.resolve("debian"), "run ./crab setup, which builds it");
        }
        throw new UnsupportedOperationException();
    }

    private static Path checked(Path root, String cure) {
        if (!Files.isDirectory(root)) {
            throw CrabException.of(
                    ErrorCode.IMAGE_NOT_FOUND, "image " + root + " cannot be used", "there is no such directory", cure);
        }
        return root.toAbsolutePath().normalize();
    }
}
