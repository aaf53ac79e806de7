package dev.crab.runtime.inspector;

import dev.crab.runtime.os.Btrfs;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks btrfs which inodes of a layer changed. A snapshot makes the kernel enter everything into the volume's tree that it still holds in
 * memory; leaves of that tree that are older than the last look are then passed over. docs/inspector.md argues why the answer is complete.
 * Whatever does not go as expected is no answer, and the layer is walked. Not thread-safe.
 */
final class ChangedInodes {
    /** No transaction has this number: nothing is known of what changed before. */
    static final long UNKNOWN = 0;

    private static final Logger LOG = LoggerFactory.getLogger(ChangedInodes.class);

    /**
     * @param inodes numbers of the inodes that exist and changed; null if they are too many
     * @param next what changes later than the look has this transaction's number or a later one
     */
    record Answer(@Nullable Set<Long> inodes, long next) {}

    private final Path volume;
    private final Path scratch;
    private final Path parent;

    private ChangedInodes(Path volume, Path scratch, Path parent) {
        this.volume = volume;
        this.scratch = scratch;
        this.parent = parent;
    }

    /** Returns null where the layer is not in a subvolume of btrfs, or has no place for snapshots: then nobody can be asked. */
    static @Nullable ChangedInodes of(InspectionTarget target) {
        Path volume = target.upper().getParent();
        Path scratch = target.scratch();
        Path parent = scratch == null ? null : scratch.getParent();
        if (volume == null || scratch == null || parent == null) {
            return null;
        }
        try {
            Object device = Files.getAttribute(volume, "unix:dev");
            boolean same = Objects.equals(device, Files.getAttribute(target.upper(), "unix:dev"));
            long inode = (Long) Files.getAttribute(volume, "unix:ino");
            if (!same || inode != Btrfs.FIRST_INODE) {
                return null;
            }
            Btrfs.transaction(volume);
            return new ChangedInodes(volume, scratch, parent);
        } catch (IOException e) {
            LOG.debug("{} is walked at each judgement: {}", target.upper(), e.toString());
            return null;
        }
    }

    /** What changes from now on has this transaction's number or a later one; UNKNOWN if it cannot be told. */
    long now() {
        try {
            return Btrfs.transaction(volume);
        } catch (IOException e) {
            LOG.debug("{}", e.toString());
            return UNKNOWN;
        }
    }

    /**
     * What changed in that transaction or later.
     *
     * @param most more inodes than this are too many
     * @return null if nothing could be learned
     */
    @Nullable
    Answer since(long transaction, int most) {
        if (transaction == UNKNOWN) {
            return null;
        }
        try {
            snapshot();
            try {
                long taken = Btrfs.transactionOfSnapshot(scratch);
                return taken < transaction
                        ? null
                        : new Answer(Btrfs.changedInodes(scratch, transaction, most), taken + 1);
            } finally {
                // No more than a name goes; what it held is freed by the kernel later.
                delete();
            }
        } catch (IOException e) {
            LOG.debug("{} has to be walked: {}", volume, e.toString());
            return null;
        }
    }

    private void snapshot() throws IOException {
        String name = scratch.getFileName().toString();
        try {
            Btrfs.snapshot(volume, parent, name, true);
        } catch (FileAlreadyExistsException e) {
            delete(); // could not be deleted last time
            Btrfs.snapshot(volume, parent, name, true);
        }
    }

    private void delete() throws IOException {
        try {
            Btrfs.deleteSubvolume(parent, scratch.getFileName().toString());
        } catch (NoSuchFileException e) {
            // Gone already, which is what was wanted.
        }
    }
}
