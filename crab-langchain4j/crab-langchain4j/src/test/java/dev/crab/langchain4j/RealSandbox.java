package dev.crab.langchain4j;

import dev.crab.runtime.sandbox.SandboxSpec;

/** The sandbox of tests that run against the real runtime. */
final class RealSandbox {
    private RealSandbox() {}

    static SandboxSpec spec() {
        return SandboxSpec.defaults();
    }
}
