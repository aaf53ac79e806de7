package dev.crab.samples.store;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The library that this module ships. */
final class Shim {
    private static final String NAME = "crab-shim.so";

    private Shim() {}

    /** Puts it into a directory and returns its path. */
    static Path install(Path directory) throws IOException {
        Path file = directory.resolve(NAME);
        try (InputStream library = Shim.class.getResourceAsStream(NAME)) {
            if (library == null) {
                throw new IOException("the resource " + NAME + " is missing");
            }
            Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
        }
        return file;
    }
}
