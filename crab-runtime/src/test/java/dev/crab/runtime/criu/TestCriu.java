package dev.crab.runtime.criu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Where tests find CRIU and the cgroup v2 hierarchy. Both must be there. */
public final class TestCriu {
    private TestCriu() {}

    public static Path binary() {
        String named = System.getProperty("crab.criu", System.getenv("CRAB_CRIU"));
        Path built = Path.of("/usr/local/lib/crab/criu/criu");
        if (named != null) {
            return Path.of(named);
        }
        return Files.isExecutable(built) ? built : CriuClient.find(System.getenv("PATH"));
    }

    public static Path cgroupV2() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/mountinfo"))) {
            if (line.contains(" - cgroup2 ")) {
                return Path.of(line.split(" ", 6)[4]);
            }
        }
        throw new IOException("no cgroup v2 hierarchy is mounted");
    }
}
