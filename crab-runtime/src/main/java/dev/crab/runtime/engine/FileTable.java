package dev.crab.runtime.engine;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.FileTree;
import dev.crab.runtime.store.FileImage;
import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.ObjectStore;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a snapshot must hold, entry by entry: a zstd stream of lines of JSON, a header and then {@link FileTableEntry}s in the order of
 * {@link FileTree}. A table holds all entries, or what differs from older tables that it builds upon. See docs/store-format.md.
 *
 * <p>Tables and tree have the same order, so that comparing them, or taking over digests from the tables before, is one pass over all of
 * them, whatever their size.
 *
 * <p>How many tables there are to read: a new one takes in the newest ones that are not much larger than itself, as the levels of a
 * log-structured merge tree do (O'Neil, Cheng, Gawlick, O'Neil: The Log-Structured Merge-Tree, 1996). So their number grows with the
 * logarithm of the number of entries, and each entry is written again about as often.
 */
final class FileTable {
    private static final int LEVEL = 3;
    private static final int MAX_DIFFERENCES = 10;

    /** A table that is at most so many times as long as what is to be written is taken in. */
    private static final int TAKEN_IN = 3;

    /** One that is at most so many bytes long is taken in, too. */
    private static final int SMALL = 1 << 10;

    /** So many bytes of changes are held in memory at most: a sandbox can make millions of files in one turn. */
    private static final int MAX_CHANGES = 32 << 20;

    private static final ObjectWriter WRITER = new ObjectMapper().writer();

    /**
     * A table that was written.
     *
     * @param ref the object
     * @param bases older tables that it builds upon, the newest first
     * @param entries number of entries of all of them together
     */
    record Written(ObjectRef ref, List<ObjectRef> bases, long entries) {}

    private FileTable() {}

    /**
     * Describes a tree that does not change, by what differs from an earlier table if there is one. Digests are taken over from that where
     * it is safe and it is of the same volume; if it turns out to be damaged, or too much differs, everything is read and written.
     */
    static Written write(ObjectStore store, String name, Path upper, Instant takenAt, @Nullable FileImage earlier) {
        return write(store, name, upper, takenAt, earlier, MAX_CHANGES);
    }

    /** @param maxChanges compressed bytes of changes that are held in memory */
    static Written write(
            ObjectStore store, String name, Path upper, Instant takenAt, @Nullable FileImage earlier, int maxChanges) {
        if (earlier != null) {
            try {
                return writeChanges(store, name, upper, takenAt, earlier.tables(), maxChanges);
            } catch (TooManyChangesException e) {
                // Written whole, which holds nothing in memory.
            } catch (CrabException e) {
                if (e.code() != ErrorCode.OBJECT_CORRUPT && e.code() != ErrorCode.FORMAT_UNKNOWN) {
                    throw e;
                }
            } catch (IOException e) {
                throw CrabException.io("file table " + earlier.fileTable().name() + " cannot be read", e);
            }
        }
        long[] entries = new long[1];
        ObjectRef ref = store.write(name, raw -> {
            try (OutputStream out = begin(raw, FileTableCursor.Header.WHOLE, takenAt);
                    DigestsBeside digests = new DigestsBeside()) {
                FileTree.walk(upper, tree -> {
                    FileTableEntry entry = FileTableEntry.of(tree);
                    if (entry.isFile()) {
                        digests.digest(tree, digest -> line(out, entry.withDigest(digest)));
                    } else {
                        digests.then(none -> line(out, entry));
                    }
                    entries[0]++;
                });
                digests.finish();
            }
        });
        return new Written(ref, List.of(), entries[0]);
    }

    private static Written writeChanges(
            ObjectStore store, String name, Path upper, Instant takenAt, List<ObjectRef> earlier, int maxChanges)
            throws IOException {
        Changed changes = new Changed(maxChanges);
        long entries = 0;
        try (OutputStream out = begin(changes, FileTableCursor.Header.CHANGES, takenAt);
                FileTableView view = FileTableView.open(store, earlier);
                DigestsBeside digests = new DigestsBeside()) {
            entries = new Changes(view, out, digests).of(upper);
            view.drain();
        }
        int taken = 0;
        long length = changes.size();
        while (taken < earlier.size() && earlier.get(taken).length() <= Math.max(SMALL, TAKEN_IN * length)) {
            length += earlier.get(taken).length();
            taken++;
        }
        List<ObjectRef> bases = earlier.subList(taken, earlier.size());
        if (taken == 0) {
            return new Written(store.write(name, changes::writeTo), bases, entries);
        }
        List<FileTableCursor> cursors = new ArrayList<>();
        cursors.add(new FileTableCursor(name, new ByteArrayInputStream(changes.toByteArray())));
        cursors.addAll(FileTableView.cursors(store, earlier.subList(0, taken)));
        int version = bases.isEmpty() ? FileTableCursor.Header.WHOLE : FileTableCursor.Header.CHANGES;
        try (FileTableView merged = new FileTableView(cursors, !bases.isEmpty())) {
            ObjectRef ref = store.write(name, raw -> {
                try (OutputStream out = begin(raw, version, takenAt)) {
                    merged.rest(entry -> line(out, entry));
                }
                merged.drain();
            });
            return new Written(ref, bases, entries);
        }
    }

    /** Finds and writes what differs between the tables before and a tree. */
    private static final class Changes {
        private final FileTableView earlier;
        private final OutputStream out;
        private final DigestsBeside digests;
        private boolean sameTree;
        private long entries;

        Changes(FileTableView earlier, OutputStream out, DigestsBeside digests) {
            this.earlier = earlier;
            this.out = out;
            this.digests = digests;
        }

        /** Returns the number of the tree's entries. */
        long of(Path upper) throws IOException {
            FileTableView.Passed gone = passed -> digests.then(none -> line(out, FileTableEntry.gone(passed.path())));
            FileTree.walk(upper, tree -> {
                FileTableEntry entry = FileTableEntry.of(tree);
                FileTableEntry old = earlier.find(entry.path(), gone);
                if (entry.path().isEmpty()) {
                    sameTree = old != null && old.inode() == entry.inode();
                }
                entries++;
                if (!entry.isFile()) {
                    digests.then(none -> changed(old, entry));
                    return;
                }
                String known = old != null && old.contentIsThatOf(entry, earlier.takenAt()) ? old.digest() : null;
                if (known != null) {
                    digests.then(none -> changed(old, entry.withDigest(known)));
                } else {
                    digests.digest(tree, digest -> changed(old, entry.withDigest(digest)));
                }
            });
            earlier.rest(gone);
            digests.finish();
            return entries;
        }

        private void changed(@Nullable FileTableEntry old, FileTableEntry now) throws IOException {
            if (old == null || !old.isStill(now, sameTree)) {
                line(out, now);
            }
        }
    }

    private static OutputStream begin(OutputStream raw, int version, Instant takenAt) throws IOException {
        OutputStream zstd = new ZstdOutputStreamNoFinalizer(new Unclosed(raw), LEVEL).setChecksum(true);
        OutputStream out = new BufferedOutputStream(zstd, 1 << 16);
        line(out, new FileTableCursor.Header(FileTableCursor.FORMAT, version, takenAt.getEpochSecond()));
        return out;
    }

    private static void line(OutputStream out, Object value) throws IOException {
        out.write(WRITER.writeValueAsBytes(value));
        out.write('\n');
    }

    /**
     * Compares a tree that does not change with its tables.
     *
     * @return number of entries
     * @throws CrabException RESTORE_MISMATCH with the first differences; OBJECT_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    static long verify(ObjectStore store, FileImage image, Path upper) {
        Comparison comparison = new Comparison();
        try (FileTableView lines = FileTableView.open(store, image.tables());
                DigestsBeside digests = new DigestsBeside()) {
            FileTableView.Passed isMissing = missing -> digests.then(none -> comparison.note(missing, "is missing"));
            FileTree.walk(upper, tree -> {
                comparison.entries++;
                FileTableEntry found = FileTableEntry.of(tree);
                FileTableEntry expected = lines.find(found.path(), isMissing);
                if (expected == null) {
                    digests.then(none -> comparison.note(found, "is extra"));
                } else if (found.isFile() && expected.size() == found.size()) {
                    digests.digest(tree, digest -> comparison.compare(expected, found.withDigest(digest)));
                } else {
                    digests.then(none -> comparison.compare(expected, found));
                }
            });
            lines.rest(isMissing);
            digests.finish();
            lines.drain();
            if (lines.entries() != image.entries()) {
                throw FileTableCursor.corrupt(
                        image.fileTable().name(), "it has " + lines.entries() + " entries, not " + image.entries());
            }
        } catch (IOException e) {
            throw CrabException.io("the files in " + upper + " cannot be checked", e);
        }
        List<String> differences = comparison.differences;
        if (!differences.isEmpty()) {
            throw CrabException.of(
                    ErrorCode.RESTORE_MISMATCH,
                    "the sandbox's files are not those that were saved",
                    String.join("; ", differences.subList(0, Math.min(differences.size(), MAX_DIFFERENCES)))
                            + (differences.size() > MAX_DIFFERENCES ? "; and more" : ""),
                    "restore an earlier generation");
        }
        return comparison.entries;
    }

    /** Of the entries that are found with those that are expected. */
    private static final class Comparison {
        final List<String> differences = new ArrayList<>();
        private final Map<Long, Long> inodes = new HashMap<>();
        long entries;

        void compare(FileTableEntry expected, FileTableEntry found) {
            String difference = expected.differenceTo(found);
            if (difference == null && expected.links() > 0) {
                Long before = inodes.putIfAbsent(expected.inode(), found.inode());
                difference = before == null || before == found.inode() ? null : "it is not linked as it was";
            }
            if (difference != null) {
                note(expected, "differs: " + difference);
            }
        }

        void note(FileTableEntry entry, String what) {
            if (differences.size() <= MAX_DIFFERENCES) {
                differences.add((entry.path().isEmpty() ? "/" : entry.path()) + " " + what);
            }
        }
    }

    private static final class TooManyChangesException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** What differs, compressed, in memory. */
    private static final class Changed extends ByteArrayOutputStream {
        private final int limit;

        Changed(int limit) {
            this.limit = limit;
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) {
            if (length > limit - size()) {
                throw new TooManyChangesException();
            }
            super.write(bytes, offset, length);
        }
    }

    /** Ends a compressed stream without ending what it is part of. */
    private static final class Unclosed extends FilterOutputStream {
        Unclosed(OutputStream out) {
            super(out);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
        }

        @Override
        public void close() throws IOException {
            out.flush();
        }
    }
}
