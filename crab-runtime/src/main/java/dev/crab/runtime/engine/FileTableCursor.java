package dev.crab.runtime.engine;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/** Reads one file table from the front, entry by entry. */
final class FileTableCursor implements AutoCloseable {
    static final String FORMAT = "crab-files";

    private static final int MAX_LINE = 1 << 22;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ObjectReader ENTRY = JSON.readerFor(FileTableEntry.class);
    private static final ObjectReader HEADER = JSON.readerFor(Header.class);

    /**
     * The first line.
     *
     * @param version {@link #WHOLE} or {@link #CHANGES}
     * @param takenAt the second since 1970 before which the snapshot was certainly not taken
     */
    record Header(
            @JsonProperty("format") String format,
            @JsonProperty("version") int version,
            @JsonProperty("takenAt") long takenAt) {
        /** A table that has every entry. */
        static final int WHOLE = 1;

        /** A table that has what differs from the tables before it. */
        static final int CHANGES = 2;
    }

    private final String name;
    private final InputStream raw;
    private final InputStream in;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream(256);
    private final Header header;
    private @Nullable FileTableEntry entry;
    private byte[] path = new byte[0];

    /**
     * @param name what errors call it
     * @param raw closed with this
     * @throws CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN
     */
    FileTableCursor(String name, InputStream raw) throws IOException {
        this.name = name;
        this.raw = raw;
        try {
            this.in = new BufferedInputStream(new ZstdInputStreamNoFinalizer(raw), 1 << 16);
            this.header = HEADER.readValue(nextLine());
            if (!FORMAT.equals(header.format()) || header.version() < 1) {
                throw corrupt(name, "it does not begin like a file table");
            }
            if (header.version() > Header.CHANGES) {
                raw.transferTo(OutputStream.nullOutputStream());
                throw CrabException.of(
                        ErrorCode.FORMAT_UNKNOWN,
                        "file table " + name + " cannot be read",
                        "its format has version " + header.version() + ", and " + Header.CHANGES
                                + " is the newest known",
                        "use the version of Crab that wrote it, or a newer one");
            }
            advance();
        } catch (CrabException | IOException e) {
            raw.close();
            if (e instanceof CrabException refusal) {
                throw refusal;
            }
            throw corrupt(name, String.valueOf(e.getMessage()));
        }
    }

    static CrabException corrupt(String name, String why) {
        return CrabException.of(
                ErrorCode.OBJECT_CORRUPT,
                "file table " + name + " cannot be used",
                why,
                "restore an earlier generation");
    }

    boolean isWhole() {
        return header.version() == Header.WHOLE;
    }

    /** The second since 1970 before which its snapshot was certainly not taken. */
    long takenAt() {
        return header.takenAt();
    }

    String name() {
        return name;
    }

    /** The entry it stands at; null at the end. */
    @Nullable
    FileTableEntry entry() {
        return entry;
    }

    /** That entry's path as bytes. */
    byte[] path() {
        return path;
    }

    /** Goes on to the next entry. */
    void advance() throws IOException {
        try {
            byte[] text = nextLine();
            FileTableEntry read = text.length == 0 ? null : ENTRY.readValue(text);
            entry = read;
            path = read == null ? path : FileTableEntry.unescape(read.path());
        } catch (JsonProcessingException | ZstdIOException e) {
            throw corrupt(name, String.valueOf(e.getMessage()));
        }
    }

    /** To the object's end, where its digest is checked. */
    void drain() throws IOException {
        while (entry != null) {
            advance();
        }
        byte[] buffer = new byte[1 << 12];
        int length;
        while ((length = raw.read(buffer)) >= 0) {
            if (length > 0) {
                throw corrupt(name, "something follows its end");
            }
        }
    }

    private byte[] nextLine() throws IOException {
        line.reset();
        int c;
        while ((c = in.read()) >= 0 && c != '\n') {
            line.write(c);
            if (line.size() > MAX_LINE) {
                throw corrupt(name, "a line is longer than " + MAX_LINE + " bytes");
            }
        }
        return line.toByteArray();
    }

    @Override
    public void close() throws IOException {
        raw.close();
    }
}
