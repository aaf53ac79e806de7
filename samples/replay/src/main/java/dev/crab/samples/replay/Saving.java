package dev.crab.samples.replay;

import dev.crab.runtime.engine.Captured;
import dev.crab.runtime.engine.CheckpointEngine;
import dev.crab.runtime.engine.CheckpointPlan;
import dev.crab.runtime.engine.FrozenHook;
import dev.crab.runtime.engine.Persisted;
import dev.crab.runtime.inspector.Effect;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.store.CheckpointImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the policies other than Crab do at the end of a turn.
 *
 * <p>Files are kept by a snapshot that is taken and made durable before the model is asked: there is nothing to wait for, since it takes
 * little time. Everything is kept by a CRIU dump with a snapshot of its instant, written whole and compressed, while the model is being
 * asked; the next tools wait for it.
 */
final class Saving implements TurnSaver {
    private final PlainPolicy.Kept kept;
    private final AgentPlan.Agent agent;
    private final PlainStore store;
    private final @Nullable CheckpointEngine engine;
    private final RunningSandbox sandbox;
    private PlainStore.@Nullable Saved last;

    Saving(
            PlainPolicy.Kept kept,
            AgentPlan.Agent agent,
            PlainStore store,
            @Nullable CheckpointEngine engine,
            RunningSandbox sandbox,
            PlainStore.@Nullable Saved last) {
        this.kept = kept;
        this.agent = agent;
        this.store = store;
        this.engine = engine;
        this.sandbox = sandbox;
        this.last = last;
    }

    @Override
    public Supplier<TurnRow> begin(int turn) {
        if (kept == PlainPolicy.Kept.FILES) {
            TurnRow row = files(turn);
            return () -> row;
        }
        if (kept == PlainPolicy.Kept.EVERYTHING) {
            CompletableFuture<TurnRow> row = CompletableFuture.supplyAsync(() -> everything(turn));
            return row::join;
        }
        return () -> TurnRow.unsaved(turn, 0);
    }

    private TurnRow files(int turn) {
        long begin = System.nanoTime();
        String id = PlainStore.id(agent.name(), turn);
        Snapshot snapshot = store.snapshots.snapshot(sandbox.processes().volume(), id);
        long taken = System.nanoTime();
        store.snapshots.makeDurable(snapshot);
        save(new PlainStore.Saved(turn, id, null));
        long end = System.nanoTime();
        long chat = chatBytes();
        return new TurnRow(turn, "", "FILES", chat, chat, 0, taken - begin, 0, end - taken, end - begin);
    }

    private TurnRow everything(int turn) {
        String id = PlainStore.id(agent.name(), turn);
        CheckpointEngine dumps = Objects.requireNonNull(engine);
        PlainStore.Saved before = last;
        // Of what was before only the table of files is used: digests of files that did not change.
        CheckpointImage files = before == null || before.image() == null
                ? null
                : new CheckpointImage(null, before.image().files());
        Captured captured = dumps.capture(sandbox, new CheckpointPlan(id, Effect.FULL, true, files), new FrozenHook() {
            @Override
            public Effect judge() {
                return Effect.FULL;
            }

            @Override
            public void taken() {}
        });
        long images = imageBytes(captured);
        long begin = System.nanoTime();
        Persisted persisted = dumps.persist(captured, turn);
        PlainStore.Saved saved = new PlainStore.Saved(turn, id, persisted.image());
        save(saved);
        last = saved;
        return new TurnRow(
                turn,
                "",
                "PROCESSES_AND_FILES",
                persisted.bytesWritten() + chatBytes(),
                images + chatBytes(),
                0,
                captured.captureNanos(),
                captured.freezeNanos(),
                System.nanoTime() - begin,
                0);
    }

    private static long imageBytes(Captured captured) {
        try {
            return captured.imageBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void save(PlainStore.Saved saved) {
        try {
            store.save(agent, saved);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private long chatBytes() {
        try {
            return Files.size(PlainStore.chat(agent));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
