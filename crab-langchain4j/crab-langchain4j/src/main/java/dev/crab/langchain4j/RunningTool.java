package dev.crab.langchain4j;

import dev.crab.overlap.ReplayScope;
import dev.crab.overlap.ToolEffect;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The tool that the current thread is in. */
final class RunningTool {
    private static final ThreadLocal<@Nullable RunningTool> CURRENT = new ThreadLocal<>();

    private final String name;
    private final @Nullable ProtectedInvocation invocation;
    private final @Nullable String key;
    private final @Nullable ReplayScope scope;
    private final ToolEffect effect;
    private volatile boolean sandboxUsed;
    private volatile boolean called = true;
    private boolean outOfTurn;

    private RunningTool(
            String name, @Nullable ProtectedInvocation invocation, @Nullable String key, ToolEffect effect) {
        this.name = name;
        this.invocation = invocation;
        this.key = key;
        this.effect = effect;
        this.scope = key == null ? null : ReplayScope.tool(key);
    }

    static RunningTool unprotected(String name) {
        return new RunningTool(name, null, null, ToolEffect.SANDBOX);
    }

    static RunningTool of(String name, ProtectedInvocation invocation, String key, ToolEffect effect) {
        return new RunningTool(name, invocation, key, effect);
    }

    static @Nullable RunningTool current() {
        return CURRENT.get();
    }

    /** Runs the work with this as the thread's tool. */
    <T> T run(Supplier<T> work) {
        RunningTool before = CURRENT.get();
        CURRENT.set(this);
        try {
            return work.get();
        } finally {
            if (before == null) {
                CURRENT.remove();
            } else {
                CURRENT.set(before);
            }
        }
    }

    String name() {
        return name;
    }

    @Nullable
    ProtectedInvocation invocation() {
        return invocation;
    }

    @Nullable
    String key() {
        return key;
    }

    /** Its method was not called: what the model gave for arguments is none. */
    void notCalled() {
        called = false;
    }

    boolean isCalled() {
        return called;
    }

    /** What systems outside may know this call by; null outside a session. */
    @Nullable
    String idempotencyKey() {
        return invocation == null || key == null ? null : invocation.replay().idempotencyKey(key);
    }

    @Nullable
    ReplayScope scope() {
        return scope;
    }

    ToolEffect effect() {
        return effect;
    }

    /** It waited while the session was parked, and did not get into a turn again. By its own thread. */
    void leftTurn() {
        outOfTurn = true;
    }

    boolean isOutOfTurn() {
        return outOfTurn;
    }

    /** Whether the call that asked for it is over, and nobody waits for it any more. */
    boolean isLeftOver() {
        return invocation != null && invocation.isOver();
    }

    /** What a tool of a call within this one does in the sandbox is this one's work, too: it is undone with it. */
    void sandboxUsed() {
        sandboxUsed = true;
        RunningTool caller = invocation == null ? null : invocation.caller();
        if (caller != null) {
            caller.sandboxUsed();
        }
    }

    boolean isSandboxUsed() {
        return sandboxUsed;
    }
}
