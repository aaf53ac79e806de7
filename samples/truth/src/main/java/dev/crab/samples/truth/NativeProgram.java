package dev.crab.samples.truth;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;

/** The static programs that this module ships. */
enum NativeProgram {
    /** Reads a frozen sandbox's state, on the host. */
    ORACLE("crab-oracle"),
    /** Makes turns, inside of a sandbox. */
    PUPPET("crab-puppet");

    private final String fileName;

    NativeProgram(String fileName) {
        this.fileName = fileName;
    }

    String fileName() {
        return fileName;
    }

    /** Puts the program into a directory and returns its path. */
    Path install(Path directory) throws IOException {
        Path file = directory.resolve(fileName);
        try (InputStream program = NativeProgram.class.getResourceAsStream(fileName)) {
            if (program == null) {
                throw new IOException("the resource " + fileName + " is missing");
            }
            Files.copy(program, file, StandardCopyOption.REPLACE_EXISTING);
        }
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return file;
    }
}
