package dev.crab.samples.truth;

import dev.crab.runtime.CrabConfig;
import java.nio.file.Path;

/** The image that the set-up makes. */
final class TestImage {
    private TestImage() {}

    static Path directory() {
        return CrabConfig.resolve().data().resolve("images/debian");
    }
}
