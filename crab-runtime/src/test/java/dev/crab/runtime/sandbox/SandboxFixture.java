package dev.crab.runtime.sandbox;

import dev.crab.runtime.snapshot.Volume;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.UUID;

/** Sandboxes on plain directories for tests; closing it leaves nothing of them behind. */
public final class SandboxFixture implements AutoCloseable {
    private final Path data;
    private final RuncSandboxFactory factory;
    private final Deque<Runnable> open = new ArrayDeque<>();

    public SandboxFixture() {
        try {
            data = Files.createTempDirectory("crab-sandbox-test");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        factory = new RuncSandboxFactory(data);
    }

    /** The Debian root file system that the project's set-up builds. */
    public static SandboxImage image() {
        String configured = Optional.ofNullable(System.getProperty("crab.data"))
                .or(() -> Optional.ofNullable(System.getenv("CRAB_DATA")))
                .orElse("/var/lib/crab");
        return new SandboxImage.Directory(Path.of(configured, "images", "debian"));
    }

    public static SandboxSpec spec() {
        return SandboxSpec.defaults().withImage(image());
    }

    public RuncSandboxFactory factory() {
        return factory;
    }

    public Path data() {
        return data;
    }

    public static String newId() {
        return "test-" + UUID.randomUUID();
    }

    public Volume volume(String id) {
        Volume volume = new Volume(id, data.resolve("volumes").resolve(id));
        try {
            Files.createDirectories(volume.upper());
            Files.createDirectories(volume.work());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return volume;
    }

    public SandboxFactory.Place prepare(String id, SandboxSpec spec, Volume volume) {
        SandboxFactory.Place place = factory.prepare(id, spec, volume);
        open.push(place::close);
        return place;
    }

    public SandboxFactory.RunningSandbox start(SandboxSpec spec) {
        String id = newId();
        SandboxFactory.RunningSandbox sandbox = prepare(id, spec, volume(id)).start();
        open.push(sandbox::close);
        return sandbox;
    }

    public SandboxFactory.RunningSandbox start() {
        return start(spec());
    }

    @Override
    public void close() {
        while (!open.isEmpty()) {
            open.pop().run();
        }
        try {
            RunFiles.deleteTree(data);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
