package dev.crab.runtime.engine;

import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxFixture;
import dev.crab.runtime.sandbox.SandboxIsolationSuite;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.store.CheckpointImage;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A sandbox whose processes came back from a dump withstands what one that was started does. */
class RestoredSandboxIsolationTest implements SandboxIsolationSuite {
    private static final SandboxSpec SPEC = SandboxIsolationSuite.limits(SandboxFixture.image());
    private static EngineFixture fixture;
    private static CheckpointImage image;
    private RunningSandbox sandbox;

    @BeforeAll
    static void dump() throws IOException {
        fixture = new EngineFixture();
        RunningSandbox original = fixture.start(SPEC);
        CheckpointPlan plan = new CheckpointPlan(EngineFixture.newId(), Effect.FULL, true, null);
        image = fixture.engine
                .persist(fixture.engine.capture(original, plan, EngineFixture.NO_HOOK), 1)
                .image();
        fixture.destroy(original);
    }

    @AfterAll
    static void close() throws IOException {
        fixture.close();
    }

    @BeforeEach
    void restore() {
        sandbox = fixture.restore(EngineFixture.newId(), SPEC, image, processes -> {})
                .sandbox();
    }

    @AfterEach
    void destroy() {
        fixture.destroy(sandbox);
    }

    @Override
    public RunningSandbox sandbox() {
        return sandbox;
    }
}
