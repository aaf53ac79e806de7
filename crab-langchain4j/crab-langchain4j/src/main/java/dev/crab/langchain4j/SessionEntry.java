package dev.crab.langchain4j;

import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** A session that the program has named, opened when it is first needed. Thread-safe. */
final class SessionEntry {
    private final String id;
    private final SandboxSpec spec;
    private final BiFunction<String, SandboxSpec, OpenSession> opener;
    private final SandboxHandle handle = new SandboxHandle(this);
    private @Nullable OpenSession open;

    SessionEntry(String id, SandboxSpec spec, BiFunction<String, SandboxSpec, OpenSession> opener) {
        this.id = id;
        this.spec = spec;
        this.opener = opener;
    }

    String id() {
        return id;
    }

    SandboxSpec spec() {
        return spec;
    }

    Sandbox handle() {
        return handle;
    }

    synchronized OpenSession open() {
        OpenSession current = open;
        if (current == null) {
            current = opener.apply(id, spec);
            open = current;
        }
        return current;
    }

    synchronized void close() {
        OpenSession current = open;
        open = null;
        if (current != null) {
            current.close();
        }
    }
}
