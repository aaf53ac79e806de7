package dev.crab.runtime.engine;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.FileTree;
import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.ObjectStore;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a snapshot must hold, entry by entry: a zstd stream of lines of JSON, a {@link Header} and then one {@link FileTableEntry} for
 * each entry in the order of {@link FileTree}. See docs/store-format.md.
 *
 * <p>Table and tree have the same order, so that comparing them, or taking over digests from the table before, is one pass over both,
 * whatever their size.
 */
final class FileTable {
    private static final String FORMAT = "crab-files";
    private static final int VERSION = 1;
    private static final int LEVEL = 3;
    private static final int MAX_LINE = 1 << 22;
    private static final int MAX_DIFFERENCES = 10;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ObjectWriter WRITER = JSON.writer();
    private static final ObjectReader ENTRY = JSON.readerFor(FileTableEntry.class);
    private static final ObjectReader HEADER = JSON.readerFor(Header.class);

    /** The first line. {@code takenAt} is the second since 1970 before which the snapshot was certainly not taken. */
    private record Header(
            @JsonProperty("format") String format,
            @JsonProperty("version") int version,
            @JsonProperty("takenAt") long takenAt) {}

    /**
     * A table that was written.
     *
     * @param ref the object
     * @param entries its lines but the header
     */
    record Written(ObjectRef ref, long entries) {}

    private FileTable() {}

    /**
     * Describes a tree that does not change. Digests are taken over from an earlier table of the same volume where that is safe; if that
     * table turns out to be damaged, everything is read.
     */
    static Written write(ObjectStore store, String name, Path upper, Instant takenAt, @Nullable ObjectRef earlier) {
        if (earlier != null) {
            try (Lines lines = new Lines(store, earlier)) {
                Written written = write(store, name, upper, takenAt, lines);
                lines.drain();
                return written;
            } catch (CrabException e) {
                if (e.code() != ErrorCode.OBJECT_CORRUPT && e.code() != ErrorCode.FORMAT_UNKNOWN) {
                    throw e;
                }
            } catch (IOException e) {
                throw CrabException.io("file table " + earlier.name() + " cannot be read", e);
            }
        }
        return write(store, name, upper, takenAt, (Lines) null);
    }

    private static Written write(ObjectStore store, String name, Path upper, Instant takenAt, @Nullable Lines earlier) {
        long[] entries = new long[1];
        ObjectRef ref = store.write(name, raw -> {
            OutputStream zstd = new ZstdOutputStreamNoFinalizer(new Unclosed(raw), LEVEL).setChecksum(true);
            try (OutputStream out = new BufferedOutputStream(zstd, 1 << 16)) {
                line(out, new Header(FORMAT, VERSION, takenAt.getEpochSecond()));
                FileTree.walk(upper, tree -> {
                    FileTableEntry entry = FileTableEntry.of(tree);
                    if (entry.isFile()) {
                        FileTableEntry old = earlier == null ? null : earlier.find(entry.path());
                        String digest = old != null && earlier != null && old.contentIsThatOf(entry, earlier.takenAt)
                                ? old.digest()
                                : null;
                        entry = entry.withDigest(digest == null ? tree.sha256() : digest);
                    }
                    line(out, entry);
                    entries[0]++;
                });
            }
        });
        return new Written(ref, entries[0]);
    }

    private static void line(OutputStream out, Object value) throws IOException {
        out.write(WRITER.writeValueAsBytes(value));
        out.write('\n');
    }

    /**
     * Compares a tree that does not change with a table.
     *
     * @return number of entries
     * @throws CrabException RESTORE_MISMATCH with the first differences; OBJECT_CORRUPT, FORMAT_UNKNOWN, IO_FAILED
     */
    static long verify(ObjectStore store, ObjectRef ref, long expectedEntries, Path upper) {
        List<String> differences = new ArrayList<>();
        long[] entries = new long[1];
        Map<Long, Long> inodes = new HashMap<>();
        try (Lines lines = new Lines(store, ref)) {
            FileTree.walk(upper, tree -> {
                entries[0]++;
                FileTableEntry found = FileTableEntry.of(tree);
                FileTableEntry expected = lines.find(found.path(), missing -> note(differences, missing, "is missing"));
                if (expected == null) {
                    note(differences, found, "is extra");
                    return;
                }
                String difference = expected.differenceTo(
                        found.isFile() && expected.size() == found.size() ? found.withDigest(tree.sha256()) : found);
                if (difference == null && expected.links() > 0) {
                    Long before = inodes.putIfAbsent(expected.inode(), found.inode());
                    difference = before == null || before == found.inode() ? null : "it is not linked as it was";
                }
                if (difference != null) {
                    note(differences, expected, "differs: " + difference);
                }
            });
            lines.rest(missing -> note(differences, missing, "is missing"));
            lines.drain();
            if (lines.read != expectedEntries) {
                throw corrupt(ref, "it has " + lines.read + " entries, not " + expectedEntries);
            }
        } catch (IOException e) {
            throw CrabException.io("the files in " + upper + " cannot be checked", e);
        }
        if (!differences.isEmpty()) {
            throw CrabException.of(
                    ErrorCode.RESTORE_MISMATCH,
                    "the sandbox's files are not those that were saved",
                    String.join("; ", differences.subList(0, Math.min(differences.size(), MAX_DIFFERENCES)))
                            + (differences.size() > MAX_DIFFERENCES ? "; and more" : ""),
                    "restore an earlier generation");
        }
        return entries[0];
    }

    private static void note(List<String> differences, FileTableEntry entry, String what) {
        if (differences.size() <= MAX_DIFFERENCES) {
            differences.add((entry.path().isEmpty() ? "/" : entry.path()) + " " + what);
        }
    }

    private static CrabException corrupt(ObjectRef ref, String why) {
        return CrabException.of(
                ErrorCode.OBJECT_CORRUPT,
                "file table " + ref.name() + " cannot be used",
                why,
                "restore an earlier generation");
    }

    /** A table's entries, one after the other. */
    interface Entries extends AutoCloseable {
        /** Those of no table. */
        Entries NONE = () -> null;

        /** The next one; null behind the last, and then the table is known to be whole. */
        @Nullable
        FileTableEntry next() throws IOException;

        @Override
        default void close() throws IOException {}
    }

    /**
     * Reads a table.
     *
     * @throws CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN, IO_FAILED; so does reading on
     */
    static Entries entries(ObjectStore store, ObjectRef ref) throws IOException {
        Lines lines = new Lines(store, ref);
        return new Entries() {
            @Override
            public @Nullable FileTableEntry next() throws IOException {
                FileTableEntry entry = lines.take();
                if (entry == null) {
                    lines.drain();
                }
                return entry;
            }

            @Override
            public void close() throws IOException {
                lines.close();
            }
        };
    }

    /** What to do with an entry of the table that the tree lacks. */
    private interface Missing {
        void entry(FileTableEntry entry);
    }

    /** Reads a table from the front, as far as it is asked for. */
    private static final class Lines implements AutoCloseable {
        private final ObjectRef ref;
        private final InputStream raw;
        private final InputStream in;
        private final ByteArrayOutputStream line = new ByteArrayOutputStream(256);
        private final long takenAt;
        private @Nullable FileTableEntry next;
        private long read;

        Lines(ObjectStore store, ObjectRef ref) throws IOException {
            this.ref = ref;
            this.raw = store.open(ref);
            try {
                this.in = new BufferedInputStream(new ZstdInputStreamNoFinalizer(raw), 1 << 16);
                Header header = HEADER.readValue(nextLine());
                if (!FORMAT.equals(header.format()) || header.version() < 1) {
                    throw corrupt(ref, "it does not begin like a file table");
                }
                if (header.version() != VERSION) {
                    raw.transferTo(OutputStream.nullOutputStream());
                    throw CrabException.of(
                            ErrorCode.FORMAT_UNKNOWN,
                            "file table " + ref.name() + " cannot be read",
                            "its format has version " + header.version() + ", and " + VERSION + " is the newest known",
                            "use the version of Crab that wrote it, or a newer one");
                }
                this.takenAt = header.takenAt();
                advance();
            } catch (CrabException | IOException e) {
                raw.close();
                if (e instanceof CrabException refusal) {
                    throw refusal;
                }
                throw corrupt(ref, String.valueOf(e.getMessage()));
            }
        }

        @Nullable
        FileTableEntry find(String path) throws IOException {
            return find(path, missing -> {});
        }

        /** Goes forward to that path; null if the table does not have it. */
        @Nullable
        FileTableEntry find(String path, Missing passed) throws IOException {
            byte[] wanted = FileTableEntry.unescape(path);
            while (next != null) {
                int order = compare(FileTableEntry.unescape(next.path()), wanted);
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

        void rest(Missing missing) throws IOException {
            while (next != null) {
                missing.entry(next);
                advance();
            }
        }

        /** To the object's end, where its digest is checked. */
        void drain() throws IOException {
            rest(ignored -> {});
            byte[] buffer = new byte[1 << 12];
            int length;
            while ((length = raw.read(buffer)) >= 0) {
                if (length > 0) {
                    throw corrupt(ref, "something follows its end");
                }
            }
        }

        private void advance() throws IOException {
            try {
                byte[] text = nextLine();
                next = text.length == 0 ? null : ENTRY.readValue(text);
                read += next == null ? 0 : 1;
            } catch (JsonProcessingException | ZstdIOException e) {
                throw corrupt(ref, String.valueOf(e.getMessage()));
            }
        }

        private byte[] nextLine() throws IOException {
            line.reset();
            int c;
            while ((c = in.read()) >= 0 && c != '\n') {
                line.write(c);
                if (line.size() > MAX_LINE) {
                    throw corrupt(ref, "a line is longer than " + MAX_LINE + " bytes");
                }
            }
            return line.toByteArray();
        }

        @Override
        public void close() throws IOException {
            raw.close();
        }
    }

    /** The order of a walk: component by component, so that a slash comes before every other byte. */
    static int compare(byte[] left, byte[] right) {
        int end = Math.min(left.length, right.length);
        for (int i = 0; i < end; i++) {
            if (left[i] != right[i]) {
                int a = left[i] == '/' ? 0 : left[i] & 0xff;
                int b = right[i] == '/' ? 0 : right[i] & 0xff;
                return Integer.compare(a, b);
            }
        }
        return Integer.compare(left.length, right.length);
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
