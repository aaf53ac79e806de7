package dev.crab.runtime;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.session.SandboxSessions;

@SuppressWarnings("DoNotCallSuggester")
final class RuntimeParts {
    static RuntimeParts make(CrabConfig config) {
        throw CrabException.of(dev.crab.runtime.error.ErrorCode.INTERNAL, "" + config, "", "");
    }

    SandboxSessions sessions() {
        throw CrabException.of(dev.crab.runtime.error.ErrorCode.INTERNAL, "", "", "");
    }

    void close() {}
}
