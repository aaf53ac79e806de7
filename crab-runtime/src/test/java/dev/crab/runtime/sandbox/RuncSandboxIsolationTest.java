package dev.crab.runtime.sandbox;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class RuncSandboxIsolationTest implements SandboxIsolationSuite {
    private final SandboxFixture fixture = new SandboxFixture();
    private SandboxFactory.RunningSandbox sandbox;

    @BeforeEach
    void start() {
        sandbox = fixture.start(SandboxIsolationSuite.limits(SandboxFixture.image()));
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    @Override
    public SandboxFactory.RunningSandbox sandbox() {
        return sandbox;
    }
}
