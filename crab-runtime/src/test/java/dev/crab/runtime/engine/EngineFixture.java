package dev.crab.runtime.engine;

import dev.crab.runtime.criu.TestCriu;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.ExecRequest;
import dev.crab.runtime.sandbox.RuncSandboxFactory;
import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxFactory;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxFixture;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.snapshot.BtrfsSnapshotter;
import dev.crab.runtime.snapshot.TestDataDirectory;
import dev.crab.runtime.store.CheckpointImage;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileObjectStore;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** An engine with everything real below it, and sandboxes on it; closing it leaves nothing of them behind. */
final class EngineFixture implements AutoCloseable {
    static final FrozenHook NO_HOOK = hook(Effect.NONE, () -> {});

    final TestDataDirectory data;
    final BtrfsSnapshotter snapshotter;
    final RuncSandboxFactory factory;
    final FileObjectStore objects;
    final CheckpointEngine engine;
    private final Deque<RunningSandbox> open = new ArrayDeque<>();
    private long generation;

    EngineFixture() throws IOException {
        data = new TestDataDirectory();
        snapshotter = BtrfsSnapshotter.open(data.path(), 4L << 30);
        factory = new RuncSandboxFactory(data.path());
        objects = new FileObjectStore(new DataDirectory(data.path()).prepare());
        engine = CriuCheckpointEngine.open(data.path(), TestCriu.binary(), snapshotter, factory, objects);
    }

    static FrozenHook hook(Effect judgement, Runnable taken) {
        return new FrozenHook() {
            @Override
            public Effect judge() {
                return judgement;
            }

            @Override
            public void taken() {
                taken.run();
            }
        };
    }

    static String newId() {
        return "t-" + UUID.randomUUID();
    }

    RunningSandbox start() {
        return start(SandboxFixture.spec());
    }

    RunningSandbox start(SandboxSpec spec) {
        String id = newId();
        SandboxFactory.Place place = factory.prepare(id, spec, snapshotter.createVolume(id));
        try {
            RunningSandbox sandbox = place.start();
            engine.attach(sandbox);
            open.push(sandbox);
            return sandbox;
        } catch (RuntimeException e) {
            place.close();
            throw e;
        }
    }

    /** Ends a sandbox for good, as a crash would. */
    void destroy(RunningSandbox sandbox) {
        engine.detach(sandbox.id());
        sandbox.close();
        snapshotter.delete(sandbox.processes().volume());
        open.remove(sandbox);
    }

    Captured capture(RunningSandbox sandbox, Effect effect, @Nullable CheckpointImage previous, FrozenHook hook) {
        return engine.capture(sandbox, new CheckpointPlan(newId(), effect, false, previous), hook);
    }

    CheckpointImage checkpoint(RunningSandbox sandbox, Effect effect, @Nullable CheckpointImage previous) {
        return engine.persist(capture(sandbox, effect, previous, NO_HOOK), ++generation)
                .image();
    }

    RestoreResult restore(String id, CheckpointImage image) {
        return restore(id, SandboxFixture.spec(), image, processes -> {});
    }

    RestoreResult restore(String id, SandboxSpec spec, CheckpointImage image, RestoreHook hook) {
        RestoreResult result = engine.restore(id, spec, image, hook);
        open.push(result.sandbox());
        return result;
    }

    /** Runs a command that has to succeed, and returns what it printed. */
    static String run(Sandbox sandbox, String command) {
        var result = sandbox.exec(ExecRequest.of("/bin/bash", "-c", command));
        if (!result.isSuccess()) {
            throw new AssertionError(command + ": " + result.text());
        }
        return result.out().trim();
    }

    @Override
    public void close() throws IOException {
        while (!open.isEmpty()) {
            destroy(open.peek());
        }
        engine.close();
        snapshotter.close();
        data.close();
    }
}
