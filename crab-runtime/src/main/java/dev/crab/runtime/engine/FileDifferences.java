package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.ObjectStore;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Compares the file tables of two checkpoints, in one pass over both. */
public final class FileDifferences {
    private FileDifferences() {}

    /** Told of each entry that is not the same, in the order of their paths. */
    @FunctionalInterface
    public interface Listener {
        /**
         * A difference. Paths have a leading slash, and bytes other than printable ASCII, and {@code %}, as {@code %XX}.
         *
         * @param older null if only the newer one has it
         * @param newer null if only the older one has it
         */
        void differs(String path, @Nullable Side older, @Nullable Side newer);
    }

    /**
     * What one of both has.
     *
     * @param type {@code f} file, {@code d} directory, {@code l} symbolic link, {@code p} fifo, {@code s} socket, {@code b}, {@code c}
     *     devices
     * @param size bytes of a file
     * @param hides whether it says that the image's entry of that name is not there
     */
    public record Side(String type, long size, boolean hides) {}

    /**
     * Compares; inodes and times of change do not count, nor do the times and sizes of directories alone.
     *
     * @param older null stands for no files but the image's
     * @param newer the same
     * @throws CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    public static void between(
            ObjectStore store, @Nullable FileImage older, @Nullable FileImage newer, Listener listener) {
        try (FileTableView left = view(store, older);
                FileTableView right = view(store, newer)) {
            FileTableEntry a = left.take();
            FileTableEntry b = right.take();
            while (a != null || b != null) {
                int order = compare(a, b);
                if (order != 0 || isDifferent(a, b)) {
                    listener.differs(
                            path(order <= 0 ? a : b), order <= 0 ? side(a) : null, order >= 0 ? side(b) : null);
                }
                a = order <= 0 ? left.take() : a;
                b = order >= 0 ? right.take() : b;
            }
            left.drain();
            right.drain();
        } catch (IOException e) {
            throw CrabException.io("file tables cannot be compared", e);
        }
    }

    private static FileTableView view(ObjectStore store, @Nullable FileImage image) throws IOException {
        return image == null ? new FileTableView(List.of(), false) : FileTableView.open(store, image.tables());
    }

    /** By their paths; whoever has no entry left comes last. */
    private static int compare(@Nullable FileTableEntry a, @Nullable FileTableEntry b) {
        if (a == null || b == null) {
            return a == null ? 1 : -1;
        }
        return FileTableEntry.compare(FileTableEntry.unescape(a.path()), FileTableEntry.unescape(b.path()));
    }

    private static boolean isDifferent(@Nullable FileTableEntry a, @Nullable FileTableEntry b) {
        if (a == null || b == null) {
            return true;
        }
        if (a.type().equals("d") && b.type().equals("d")) {
            // What comes and goes in a directory is told by itself.
            return a.mode() != b.mode() || a.uid() != b.uid() || a.gid() != b.gid();
        }
        return a.differenceTo(b) != null;
    }

    private static String path(@Nullable FileTableEntry entry) {
        return entry == null || entry.path().isEmpty() ? "/" : entry.path();
    }

    private static @Nullable Side side(@Nullable FileTableEntry entry) {
        return entry == null ? null : new Side(entry.type(), entry.size(), isWhiteout(entry));
    }

    private static boolean isWhiteout(FileTableEntry entry) {
        long[] device = entry.device();
        return entry.type().equals("c") && device != null && device[0] == 0 && device[1] == 0;
    }
}
