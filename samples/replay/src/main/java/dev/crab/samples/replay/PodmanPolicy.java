package dev.crab.samples.replay;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.store.DataDirectory;
import dev.crab.samples.common.RecordedSetup;
import dev.crab.samples.common.Recording;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * What podman's own checkpoints give: tools run in a container, which is exported by {@code podman container checkpoint} after each turn,
 * while the model is asked; the next tools wait for it. After a crash it is removed, and imported again with the chat of that turn.
 */
final class PodmanPolicy implements Policy {
    private static final String IMAGE = "crab-replay-";

    private final Podman podman;
    private final DataDirectory data;
    private final Path image;
    private final Map<String, Path> copies;

    PodmanPolicy(Path data, Path image, Map<String, Path> copies) throws IOException {
        this.data = new DataDirectory(data).prepare();
        this.image = image;
        this.copies = copies;
        podman = new Podman(data).prepare();
    }

    @Override
    public Life open(AgentPlan.Agent agent, Recording recording, Consumer<TurnRow> turns) throws IOException {
        PlainStore.Saved saved = PlainStore.saved(agent.place());
        String container = data.sandbox(agent.name());
        podman.remove(container);
        podman.keepOnly(agent.name(), saved == null ? null : podman.archive(saved.snapshot()));
        if (saved != null) {
            PlainStore.restoreChat(agent, saved);
            podman.restore(container, podman.archive(saved.snapshot()));
        } else {
            Files.deleteIfExists(PlainStore.chat(agent)); // only a chat without a sandbox would be left of it
            podman.start(container, ground(recording));
        }
        return new PlainLife(
                agent,
                recording,
                new PodmanSandbox(podman, container),
                saved == null ? 0 : saved.turn(),
                turn -> begin(agent, container, turn),
                turns,
                () -> remove(container));
    }

    /** The image that a trajectory begins on. Its set-up has been run once, in a container that was committed. */
    private String ground(Recording recording) throws IOException {
        // Agents of other JVMs may be at the same trajectory; the lock is one of the whole host, and of one thread
        // here.
        synchronized (PodmanPolicy.class) {
            try (FileChannel file = FileChannel.open(
                    data.root().resolve("replay.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                file.lock(); // until the file is closed
                return lockedGround(recording);
            }
        }
    }

    private String lockedGround(Recording recording) throws IOException {
        String base = IMAGE + "base-" + Integer.toHexString(image.hashCode());
        if (!podman.hasImage(base)) {
            podman.makeImage(base, image);
        }
        String ground = IMAGE + Integer.toHexString((recording.id() + recording.setup()).hashCode());
        if (!podman.hasImage(ground)) {
            String making = data.sandbox(ground);
            podman.remove(making);
            try {
                podman.start(making, base);
                RecordedSetup.run(new PodmanSandbox(podman, making), recording, copies);
                podman.commit(making, ground);
            } finally {
                podman.remove(making);
            }
        }
        return ground;
    }

    private Supplier<TurnRow> begin(AgentPlan.Agent agent, String container, int turn) {
        CompletableFuture<TurnRow> row = CompletableFuture.supplyAsync(() -> {
            try {
                return save(agent, container, turn);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        return row::join;
    }

    private TurnRow save(AgentPlan.Agent agent, String container, int turn) throws IOException {
        long begin = System.nanoTime();
        String id = PlainStore.id(agent.name(), turn);
        Path archive = podman.archive(id);
        Path making = archive.resolveSibling(archive.getFileName() + ".making");
        Podman.Checkpointed checkpointed = checkpoint(container, making);
        long packed = System.nanoTime();
        PlainStore.flush(making);
        Files.move(making, archive, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        PlainStore.flush(Objects.requireNonNull(archive.getParent()));
        PlainStore.Saved before = PlainStore.replace(agent, new PlainStore.Saved(turn, id, null));
        if (before != null && !before.snapshot().equals(id)) {
            Files.deleteIfExists(podman.archive(before.snapshot()));
        }
        long bytes = Files.size(archive) + Files.size(PlainStore.chat(agent));
        long capture = packed - begin - (checkpointed.all() - checkpointed.runtime());
        return new TurnRow(
                turn,
                "",
                "PROCESSES_AND_FILES",
                bytes,
                bytes,
                0,
                capture,
                checkpointed.frozen(),
                System.nanoTime() - begin - capture,
                0);
    }

    private Podman.Checkpointed checkpoint(String container, Path file) {
        try {
            return podman.checkpoint(container, file);
        } catch (IOException e) {
            throw CrabException.of(
                    ErrorCode.CAPTURE_FAILED,
                    "container " + container + " cannot be checkpointed",
                    CrabException.reason(e),
                    "see what podman says of it");
        }
    }

    private void remove(String container) {
        try {
            podman.remove(container);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        // Each life has removed its container.
    }
}
