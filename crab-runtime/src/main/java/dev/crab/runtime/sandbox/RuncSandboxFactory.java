package dev.crab.runtime.sandbox;

import dev.crab.runtime.snapshot.Volume;
import java.nio.file.Path;

/** Makes sandboxes by runc over an overlay mount. Thread-safe. */
public final class RuncSandboxFactory implements SandboxFactory {
    private final Path data;

    /** A factory that keeps unpacked images under that data directory. */
    public RuncSandboxFactory(Path data) {
        this.data = data;
    }

    @Override
    public Path resolve(SandboxImage image) {
        throw new UnsupportedOperationException(data.toString());
    }

    @Override
    public Place prepare(String id, SandboxSpec spec, Volume volume) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void sweep(String id) {
        throw new UnsupportedOperationException();
    }
}
