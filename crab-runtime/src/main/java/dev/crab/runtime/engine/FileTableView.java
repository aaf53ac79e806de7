package dev.crab.runtime.engine;

import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.ObjectStore;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Several file tables read as one, in which a newer table's entry stands for an older one's of the same path. */
final class FileTableView implements AutoCloseable {
    /** What to do with an entry that was passed over. */
    @FunctionalInterface
    interface Passed {
        void entry(FileTableEntry entry) throws IOException;
    }

    private final List<FileTableCursor> newestFirst;
    private final boolean showsGone;
    private @Nullable FileTableEntry next;
    private byte[] nextPath = new byte[0];
    private long entries;

    /**
     * @param newestFirst closed with this
     * @param showsGone whether what a table says is gone is an entry, too
     */
    FileTableView(List<FileTableCursor> newestFirst, boolean showsGone) throws IOException {
        this.newestFirst = List.copyOf(newestFirst);
        this.showsGone = showsGone;
        advance();
    }

    /**
     * Opens a table with those it builds upon.
     *
     * @throws dev.crab.runtime.error.CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN
     */
    static FileTableView open(ObjectStore store, List<ObjectRef> newestFirst) throws IOException {
        List<FileTableCursor> cursors = cursors(store, newestFirst);
        try {
            for (int i = 0; i < cursors.size(); i++) {
                if (cursors.get(i).isWhole() != (i == cursors.size() - 1)) {
                    throw FileTableCursor.corrupt(
                            cursors.get(i).name(), "tables that build upon each other are missing or too many");
                }
            }
            return new FileTableView(cursors, false);
        } catch (IOException | RuntimeException e) {
            close(cursors);
            throw e;
        }
    }

    /** Opens tables one by one; all or none. */
    static List<FileTableCursor> cursors(ObjectStore store, List<ObjectRef> refs) throws IOException {
        List<FileTableCursor> cursors = new ArrayList<>();
        try {
            for (ObjectRef ref : refs) {
                cursors.add(new FileTableCursor(ref.name(), store.open(ref)));
            }
        } catch (IOException | RuntimeException e) {
            close(cursors);
            throw e;
        }
        return cursors;
    }

    /** The second since 1970 before which the newest snapshot was certainly not taken. */
    long takenAt() {
        return newestFirst.get(0).takenAt();
    }

    /** Entries that were read so far, the one that {@link #find} would look at first among them. */
    long entries() {
        return entries;
    }

    /** Goes forward to that path, which must not lie before that of the last call; null if there is no such entry. */
    @Nullable
    FileTableEntry find(String path, Passed passed) throws IOException {
        byte[] wanted = FileTableEntry.unescape(path);
        while (next != null) {
            int order = FileTableEntry.compare(nextPath, wanted);
            if (order > 0) {
                return null;
            }
            FileTableEntry entry = next;
            advance();
            if (order == 0) {
                return entry;
            }
            passed.entry(entry);
        }
        return null;
    }

    /** The next entry; null behind the last. */
    @Nullable
    FileTableEntry take() throws IOException {
        FileTableEntry entry = next;
        if (entry != null) {
            advance();
        }
        return entry;
    }

    /** Goes to the end. */
    void rest(Passed passed) throws IOException {
        FileTableEntry entry;
        while ((entry = take()) != null) {
            passed.entry(entry);
        }
    }

    /** To the end of every table, where its digest is checked: nothing that was read may be trusted before. */
    void drain() throws IOException {
        rest(ignored -> {});
        for (FileTableCursor table : newestFirst) {
            table.drain();
        }
    }

    private void advance() throws IOException {
        do {
            FileTableCursor first = null;
            for (FileTableCursor table : newestFirst) {
                if (table.entry() != null
                        && (first == null || FileTableEntry.compare(table.path(), first.path()) < 0)) {
                    first = table;
                }
            }
            if (first == null) {
                next = null;
                return;
            }
            next = first.entry();
            nextPath = first.path();
            for (FileTableCursor table : newestFirst) {
                if (table.entry() != null && Arrays.equals(table.path(), nextPath)) {
                    table.advance();
                }
            }
        } while (next != null && next.isGone() && !showsGone);
        entries++;
    }

    @Override
    public void close() throws IOException {
        close(newestFirst);
    }

    private static void close(List<FileTableCursor> cursors) throws IOException {
        for (FileTableCursor cursor : cursors) {
            cursor.close();
        }
    }
}
