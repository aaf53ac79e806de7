package dev.crab.langchain4j;

import dev.crab.runtime.sandbox.Sandbox;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.session.SandboxSession;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** A session that the program has named, opened when it is first needed. Thread-safe. */
final class SessionEntry {
    private final String id;
    private final SandboxSpec spec;
    private final BiFunction<String, SandboxSpec, OpenSession> opener;
    private final SandboxHandle handle = new SandboxHandle(this);
    private @Nullable OpenSession open;
    private @Nullable String notice;

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
            notice = notice(current.session().recovery());
        }
        return current;
    }

    private static @Nullable String notice(SandboxSession.Recovery recovery) {
        return recovery instanceof SandboxSession.Recovery.Restored restored
                        && !restored.lost().isEmpty()
                ? "\n[The sandbox was restored after a crash. Not restored, because it could not be captured: "
                        + String.join(", ", restored.lost()) + "]"
                : null;
    }

    /** What the model has to be told about the restore; null if there is nothing, or it has been taken. */
    synchronized @Nullable String takeNotice() {
        String current = notice;
        notice = null;
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
