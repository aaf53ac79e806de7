package dev.crab.samples.replay;

import dev.crab.runtime.sandbox.RuncSandboxFactory;
import dev.crab.runtime.snapshot.Snapshot;
import dev.crab.runtime.snapshot.SnapshotKind;
import dev.crab.runtime.snapshot.Snapshotter;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.crab.runtime.snapshot.Volume;
import dev.crab.runtime.store.CheckpointImage;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.runtime.store.FileObjectStore;
import dev.crab.samples.common.Json;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** What the policies other than Crab keep, on the same disk and by the same means as Crab. Thread-safe for different agents. */
final class PlainStore implements AutoCloseable {
    /**
     * The newest state that an agent can go back to.
     *
     * @param turn from 1
     * @param snapshot of its files, or what podman has made
     * @param image of its processes and files; null where files alone are kept
     */
    record Saved(int turn, String snapshot, @Nullable CheckpointImage image) {}

    private static final String GROUND = "replay-ground-";
    private static final String CHAT = "chat.json";

    final DataDirectory data;
    final RuncSandboxFactory sandboxes;
    final Snapshotter snapshots;
    final FileObjectStore objects;

    PlainStore(Path directory) {
        data = new DataDirectory(directory).prepare();
        sandboxes = new RuncSandboxFactory(directory);
        snapshots = Snapshotters.open(directory, SnapshotKind.AUTO);
        objects = new FileObjectStore(data);
    }

    static Path chat(AgentPlan.Agent agent) {
        return agent.place().resolve(CHAT);
    }

    /** Id for what is saved of a turn, for the n-th time. */
    static String id(String agent, int turn) {
        return agent + ".t" + turn;
    }

    static @Nullable Saved saved(Path place) throws IOException {
        Path file = place.resolve("saved.json");
        return Files.exists(file) ? Json.read(Json.read(Files.readString(file)), Saved.class) : null;
    }

    /** Makes that the state to go back to, chat included; durable on return. What was before it goes. */
    void save(AgentPlan.Agent agent, Saved saved) throws IOException {
        Saved before = replace(agent, saved);
        if (before != null && before.turn() != saved.turn()) {
            delete(before.snapshot());
        }
    }

    /** Makes that the state to go back to, chat included; durable on return. Answers with what was before, of which only the chat goes. */
    static @Nullable Saved replace(AgentPlan.Agent agent, Saved saved) throws IOException {
        Saved before = saved(agent.place());
        Path chat = agent.place().resolve(saved.turn() + "." + CHAT);
        Files.copy(chat(agent), chat, StandardCopyOption.REPLACE_EXISTING);
        flush(chat);
        Path next = agent.place().resolve("saved.next");
        Files.writeString(next, Json.write(saved));
        flush(next);
        Files.move(next, agent.place().resolve("saved.json"), StandardCopyOption.ATOMIC_MOVE);
        flush(agent.place());
        if (before != null && before.turn() != saved.turn()) {
            Files.deleteIfExists(agent.place().resolve(before.turn() + "." + CHAT));
        }
        return before;
    }

    /** Puts the chat back to that of the saved turn. */
    static void restoreChat(AgentPlan.Agent agent, Saved saved) throws IOException {
        Files.copy(agent.place().resolve(saved.turn() + "." + CHAT), chat(agent), StandardCopyOption.REPLACE_EXISTING);
    }

    static void flush(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private void delete(String id) {
        snapshots.delete(new Snapshot(id, Path.of("")));
        objects.list(id + ".").forEach(objects::delete);
    }

    /** Ends what a dead JVM left running of an agent's sandbox, and removes what it had not finished saving. */
    void sweep(String agent, @Nullable Saved saved) {
        String sandbox = data.sandbox(agent);
        sandboxes.sweep(sandbox);
        snapshots.delete(new Volume(sandbox, Path.of("")));
        for (String id : snapshots.snapshots()) {
            if (id.startsWith(agent + ".") && (saved == null || !id.equals(saved.snapshot()))) {
                delete(id);
            }
        }
    }

    /** Name of the snapshot of a trajectory's beginning. */
    String ground(String trajectory) {
        return GROUND + trajectory + "." + data.sandbox("x").substring(2);
    }

    /** Removes the beginnings of trajectories. */
    void dropGrounds() {
        snapshots.snapshots().stream().filter(id -> id.startsWith(GROUND)).forEach(this::delete);
    }

    @Override
    public void close() {
        snapshots.close();
    }
}
