package dev.crab.runtime.sandbox;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.UUID;

/** The program that is pid 1 of every sandbox, shipped on the class path. */
final class InitBinary {
    /** Its name in the sandbox's root directory. */
    static final String NAME = ".crab-init";

    private static final String RESOURCE = "crab-init";

    private InitBinary() {}

    /**
     * Puts the shipped program into the root directory, whatever lies there: a link planted under the name is replaced, not followed, and
     * a directory is moved aside. Only the last component of each path is the sandbox's to choose, and the root itself is the host's.
     */
    static void install(Path root) throws IOException {
        Path temporary = root.resolve(NAME + "." + UUID.randomUUID());
        Path target = root.resolve(NAME);
        try (InputStream program = InitBinary.class.getResourceAsStream(RESOURCE)) {
            if (program == null) {
                throw new IOException("the resource " + RESOURCE + " is missing");
            }
            // CREATE_NEW is O_EXCL: it follows no link
            try (var out = Files.newOutputStream(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                program.transferTo(out);
            }
            Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString("rwxr-xr-x"));
            if (Files.isDirectory(target, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
                Files.move(target, root.resolve(NAME + ".replaced." + UUID.randomUUID()));
            }
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(temporary);
        }
    }
}
