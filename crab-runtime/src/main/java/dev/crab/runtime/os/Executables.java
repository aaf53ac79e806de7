package dev.crab.runtime.os;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Programs of the host. */
public final class Executables {
    private Executables() {}

    /** A program in PATH or, since a plain root shell may lack them, in the system's own directories. */
    public static Optional<Path> find(String program) {
        String path = Optional.ofNullable(System.getenv("PATH")).orElse("/usr/sbin:/usr/bin:/sbin:/bin");
        for (String directory : (path + ":/usr/sbin:/sbin").split(":", -1)) {
            if (!directory.isEmpty()) {
                Path candidate = Path.of(directory, program);
                if (Files.isExecutable(candidate) && Files.isRegularFile(candidate)) {
                    return Optional.of(candidate);
                }
            }
        }
        return Optional.empty();
    }
}
