package dev.crab.runtime.sandbox;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

class RuncShellTest implements ShellConformance {
    private final SandboxFixture fixture = new SandboxFixture();
    private Sandbox sandbox;

    @BeforeEach
    void start() {
        sandbox = fixture.start();
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    @Override
    public Sandbox sandbox() {
        return sandbox;
    }
}
