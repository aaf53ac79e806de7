package dev.crab.samples.programs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What has to be so on a host for a limit to hold there. */
enum HostCondition {
    /** Anywhere. */
    ALWAYS {
        @Override
        boolean holds() {
            return true;
        }
    },
    /** Root lacks CAP_SYS_RESOURCE, without which CRIU cannot read the resource limits of another user's process. */
    NO_CAP_SYS_RESOURCE {
        @Override
        boolean holds() {
            String name = "CapEff:";
            try {
                String line = Files.readAllLines(Path.of("/proc/self/status")).stream()
                        .filter(each -> each.startsWith(name))
                        .findFirst()
                        .orElseThrow();
                return (Long.parseUnsignedLong(line.substring(name.length()).strip(), 16) & 1L << CAP_SYS_RESOURCE)
                        == 0;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    };

    private static final int CAP_SYS_RESOURCE = 24;

    abstract boolean holds();
}
