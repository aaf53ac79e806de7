package dev.crab.runtime.store;

import java.util.Objects;

/**
 * A page of a process's memory that a restore must bring back.
 *
 * @param pid the process, inside the sandbox's pid namespace
 * @param address of the page's first byte; a multiple of 4096, unsigned
 * @param sha256 of its 4096 bytes, 64 lower-case hexadecimal digits
 */
public record SampledPage(int pid, long address, String sha256) {
    public SampledPage {
        Objects.requireNonNull(sha256, "sha256");
    }
}
