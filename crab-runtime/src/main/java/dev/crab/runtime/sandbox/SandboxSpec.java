package dev.crab.runtime.sandbox;

/**
 * What a new sandbox is like. Immutable.
 *
 * @param image the read-only root
 * @param memoryLimit bytes of memory all its processes may use together; at least 16 MiB
 * @param pidLimit processes and threads it may have at once; at least 16
 * @param hostname 1 to 63 characters of {@code [a-z0-9-]}
 */
public record SandboxSpec(SandboxImage image, long memoryLimit, int pidLimit, String hostname) {
    /** The defaults: the Debian image, 2 GiB of memory, 512 processes, host name {@code sandbox}. */
    public static SandboxSpec defaults() {
        return new SandboxSpec(new SandboxImage.Debian(), 2L << 30, 512, "sandbox");
    }

    public SandboxSpec {
        if (memoryLimit < 16L << 20) {
            throw new IllegalArgumentException("memoryLimit must be at least 16 MiB: " + memoryLimit);
        }
        if (pidLimit < 16) {
            throw new IllegalArgumentException("pidLimit must be at least 16: " + pidLimit);
        }
        if (!hostname.matches("[a-z0-9][a-z0-9-]{0,62}")) {
            throw new IllegalArgumentException("not a host name: " + hostname);
        }
    }

    public SandboxSpec withImage(SandboxImage other) {
        return new SandboxSpec(other, memoryLimit, pidLimit, hostname);
    }

    public SandboxSpec withMemoryLimit(long bytes) {
        return new SandboxSpec(image, bytes, pidLimit, hostname);
    }

    public SandboxSpec withPidLimit(int limit) {
        return new SandboxSpec(image, memoryLimit, limit, hostname);
    }
}
