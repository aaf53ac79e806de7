package dev.crab.samples.truth;

import dev.crab.runtime.inspector.InspectionTarget;
import dev.crab.runtime.inspector.TurnEffects;
import dev.crab.runtime.inspector.TurnInspector;
import dev.crab.runtime.inspector.TurnInspector.Watch;
import dev.crab.runtime.sandbox.SandboxProcesses;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Labels turns in one sandbox: the inspector watches it as in a session, the oracle reads its state before and after. Not thread-safe.
 *
 * <p>The order of a turn: {@code begin}, the turn, {@code judge} (the sandbox runs, as it does for a real judgement); then the freeze, under
 * which the oracle reads and the inspector rebases. The state after a turn is that before the next one, so that the oracle reads once a
 * turn. Before the freeze the harness waits until survivors sleep: what they do until then still belongs to the turn in which they ran.
 *
 * <p>The freeze itself is the observer's effect: it interrupts waits, and the kernel writes the rest of a relative nanosleep(2) into the
 * sleeper's memory where it asked for it. Kinds use sleepers that do not ask (sleep(1) and python do not).
 */
final class Harness implements AutoCloseable {
    private static final Duration QUIET_BASELINE = Duration.ofMillis(10);

    /** What a survivor does within this time after a thaw may be the thaw's doing. */
    private static final Duration CONTINUATION = Duration.ofMillis(5);

    private final Arena arena;
    private final Watch watch;
    private final Oracle oracle;
    private @Nullable SystemState state;

    /** Where survivors waited then. */
    private Map<Integer, String> waits = Map.of();

    private Settled settled = Settled.NEVER;

    /** Begins to watch the arena's sandbox. */
    Harness(Arena arena, TurnInspector inspector, Path oracleProgram) throws IOException {
        this.arena = arena;
        SandboxProcesses sandbox = arena.processes();
        this.watch = inspector.watch(new InspectionTarget(
                "truth",
                sandbox.cgroup(),
                sandbox.initPid(),
                sandbox.volume().upper(),
                sandbox.lower(),
                sandbox.volume().scratch()));
        try {
            this.oracle = new Oracle(oracleProgram, sandbox);
        } catch (IOException e) {
            watch.close();
            throw e;
        }
    }

    Arena arena() {
        return arena;
    }

    /** What is done to the sandbox before a turn. */
    interface Preparation {
        void run() throws IOException;
    }

    /** Does something to the sandbox, and makes the state after it the one that the next turn starts from. */
    void prepare(Preparation preparation) throws IOException {
        state = null;
        watch.begin();
        try {
            preparation.run();
            arena.awaitRest(QUIET_BASELINE);
        } finally {
            watch.judge();
        }
        state = arena.frozen(() -> {
            watch.judge();
            watch.rebase();
            waits = arena.waits();
            return oracle.observe();
        });
    }

    /**
     * Runs a turn and labels it. The turn starts from the state after the last one, or from that of {@link #prepare}.
     *
     * @param turn returns when its command has ended
     */
    LabelledTurn observe(String category, String name, Runnable turn) throws IOException {
        if (state == null) {
            prepare(() -> {});
        }
        SystemState before = Objects.requireNonNull(state);
        state = null; // where the turn fails, the next one prepares anew
        long start = System.nanoTime();
        watch.begin();
        TurnEffects judgement;
        try {
            turn.run();
        } finally {
            judgement = watch.judge();
        }
        arena.awaitRest(Duration.ZERO);
        return arena.frozen(() -> {
            SystemState after = oracle.observe();
            Truth truth = after.since(before);
            LabelledTurn labelled =
                    new LabelledTurn(category, name, arena.fileSystem(), null, truth, judgement, null, 0);
            TurnEffects held = labelled.isMiss() ? watch.judge() : null;
            watch.rebase();
            state = after;
            waits = arena.waits();
            return labelled.observed(held, System.nanoTime() - start);
        });
    }

    /**
     * Lets survivors finish what the thaw has them do, and takes the memory that it leaves them as part of the state before the next turn.
     * To be called right behind {@link #observe} or {@link #prepare} where survivors wait in calls that no kernel restarts: epoll_wait(2)
     * and its like come back with EINTR, and the loop around them notes the time. The inspector calls that the continuation of what was
     * captured (docs/inspector.md).
     *
     * <p>Taken is the memory of a process whose threads all wait in the same call from the same place as under the freeze, and of which
     * nothing else differs (threads, descriptors, queues, mappings). Whatever else changes counts for the next turn.
     */
    void settle() throws IOException {
        SystemState frozen = state;
        if (frozen != null && arena.hasSurvivors()) {
            arena.awaitRest(CONTINUATION);
            SystemState later = oracle.observe();
            Map<Integer, String> now = arena.waits();
            Set<Integer> continued = later.memoryChanged(frozen, true);
            continued.removeIf(pid -> !now.containsKey(pid) || !now.get(pid).equals(waits.get(pid)));
            int all = later.memoryChanged(frozen, false).size();
            state = frozen.withMemoryOf(later, continued);
            settled = settled.plus(new Settled(continued.size(), all - continued.size()));
        }
    }

    /** How often {@link #settle} took memory over, so far. */
    Settled settled() {
        return settled;
    }

    @Override
    public void close() {
        watch.close();
        oracle.close();
    }
}
