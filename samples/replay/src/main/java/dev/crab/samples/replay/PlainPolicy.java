package dev.crab.samples.replay;

import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.engine.CheckpointEngine;
import dev.crab.runtime.engine.CriuCheckpointEngine;
import dev.crab.runtime.sandbox.SandboxFactory.Place;
import dev.crab.runtime.sandbox.SandboxFactory.RunningSandbox;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.snapshot.Volume;
import dev.crab.samples.common.RecordedSetup;
import dev.crab.samples.common.Recording;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What can be done without Crab, in the same sandboxes: keep nothing, the chat, the chat and the files, or the chat and everything. Each is
 * done as one would who does it well: see {@link Saving}.
 */
final class PlainPolicy implements Policy {
    /** What is kept. */
    enum Kept {
        NOTHING,
        CHAT,
        FILES,
        EVERYTHING
    }

    private final Kept kept;
    private final SandboxSpec spec;
    private final Map<String, Path> copies;
    private final PlainStore store;
    private final @Nullable CheckpointEngine engine;

    PlainPolicy(Kept kept, Path data, Path image, Map<String, Path> copies) {
        this.kept = kept;
        this.copies = copies;
        spec = SandboxSpec.defaults().withImage(new SandboxImage.Directory(image));
        store = new PlainStore(data);
        engine = kept == Kept.EVERYTHING
                ? CriuCheckpointEngine.open(
                        data, CrabRuntime.criu(CrabConfig.resolve()), store.snapshots, store.sandboxes, store.objects)
                : null;
    }

    @Override
    public Life open(AgentPlan.Agent agent, Recording recording, Consumer<TurnRow> turns) throws IOException {
        PlainStore.Saved saved = PlainStore.saved(agent.place());
        store.sweep(agent.name(), saved);
        String id = store.data.sandbox(agent.name());
        RunningSandbox sandbox;
        Closing closing = new Closing(id);
        if (saved != null) {
            PlainStore.restoreChat(agent, saved);
        } else if (kept != Kept.CHAT) {
            Files.deleteIfExists(PlainStore.chat(agent)); // only a chat without a sandbox would be left of it
        }
        if (saved != null && saved.image() != null) {
            sandbox = Objects.requireNonNull(engine)
                    .restore(id, spec, saved.image(), processes -> {})
                    .sandbox();
        } else {
            Volume volume = saved != null
                    ? store.snapshots.createVolume(id, store.snapshots.find(saved.snapshot()))
                    : ground(recording, id);
            sandbox = closing.start(volume);
        }
        closing.sandbox = sandbox;
        if (engine != null) {
            engine.attach(sandbox);
        }
        Saving saving = new Saving(kept, agent, store, engine, sandbox, saved);
        return new PlainLife(
                agent, recording, sandbox, saved == null ? 0 : saved.turn(), saving, turns, closing::close);
    }

    /** A new volume as the trajectory begins on it. Its set-up has been run once, and is a snapshot since. */
    private Volume ground(Recording recording, String id) throws IOException {
        // Agents of other JVMs may be at the same trajectory; the lock is one of the whole host, and of one thread
        // here.
        synchronized (PlainPolicy.class) {
            try (FileChannel file = FileChannel.open(
                    store.data.root().resolve("replay.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                file.lock(); // until the file is closed
                return lockedGround(recording, id);
            }
        }
    }

    private Volume lockedGround(Recording recording, String id) throws IOException {
        String name = store.ground(Integer.toHexString((recording.id() + recording.setup()).hashCode()));
        if (!store.snapshots.snapshots().contains(name)) {
            String making = name + ".making";
            store.sandboxes.sweep(making);
            store.snapshots.delete(new Volume(making, Path.of("")));
            Closing closing = new Closing(making);
            try (closing) {
                RunningSandbox sandbox = closing.start(store.snapshots.createVolume(making));
                closing.sandbox = sandbox;
                RecordedSetup.run(sandbox, recording, copies);
                Snapshot ground = store.snapshots.snapshot(sandbox.processes().volume(), name);
                store.snapshots.makeDurable(ground);
            }
        }
        return store.snapshots.createVolume(id, store.snapshots.find(name));
    }

    @Override
    public void close() {
        if (engine != null) {
            engine.close();
        }
        store.close();
    }

    /** What ends with a sandbox. */
    final class Closing implements AutoCloseable {
        private final String id;
        private @Nullable RunningSandbox sandbox;
        private @Nullable Place place;

        Closing(String id) {
            this.id = id;
        }

        RunningSandbox start(Volume volume) {
            Place made = store.sandboxes.prepare(id, spec, volume);
            place = made;
            return made.start();
        }

        @Override
        public void close() {
            if (engine != null) {
                engine.detach(id);
            }
            if (sandbox != null) {
                sandbox.close();
            }
            if (place != null) {
                place.close();
            }
            store.snapshots.delete(new Volume(id, Path.of("")));
        }
    }
}
