package dev.crab.runtime.store;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.OwnFiles;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads a journal from its first byte and decides where it ends. Changes nothing, so it can be used beside a living owner.
 *
 * @param records all intact records, oldest first
 * @param length where the last of them ends
 * @param torn bytes behind that which are the remains of an append that never completed
 * @param durable bytes that are known to have been flushed, at most {@code length}
 */
record JournalReader(List<JournalRecord> records, long length, long torn, long durable) {
    private static final String CURE =
            "bring the file back from a backup; Crab does not guess which turns were committed";

    /**
     * Reads a journal.
     *
     * @return null if there is none: neither the file nor one byte that was ever durable
     * @throws CrabException JOURNAL_CORRUPT naming file and offset; FORMAT_UNKNOWN; IO_FAILED
     */
    static @Nullable JournalReader read(Path journal, Path durableFile) {
        try {
            // The bound first: beside a living owner it may only be too small for what is read after it.
            Long durable = readDurable(journal, durableFile);
            if (!Files.exists(journal, LinkOption.NOFOLLOW_LINKS)) {
                if (durable != null && durable > 0) {
                    throw corrupt(journal, 0, "the file is missing, and " + durable + " bytes of it were durable");
                }
                return null;
            }
            requireFile(journal);
            if (durable == null) {
                throw corrupt(
                        durableFile, 0, "the file is missing, without which a torn append looks like a lost commit");
            }
            try (RandomAccessFile file = new RandomAccessFile(journal.toFile(), "r")) {
                return new Scan(journal, file, durable).run();
            }
        } catch (IOException e) {
            throw CrabException.io("the journal " + journal + " cannot be read", e);
        }
    }

    private static @Nullable Long readDurable(Path journal, Path durableFile) throws IOException {
        if (!Files.exists(durableFile, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        byte[] content;
        try {
            content = OwnFiles.read(durableFile, JournalFormat.DURABLE_BYTES);
        } catch (OwnFiles.UnfitException e) {
            throw corrupt(durableFile, 0, String.valueOf(e.getReason()));
        }
        Long length = JournalFormat.durable(content);
        if (length == null) {
            throw corrupt(
                    durableFile,
                    0,
                    "it does not match its checksum, so how much of " + journal.getFileName()
                            + " was durable is unknown");
        }
        return length;
    }

    private static void requireFile(Path journal) throws IOException {
        try {
            OwnFiles.requireFile(journal);
        } catch (OwnFiles.UnfitException e) {
            throw corrupt(journal, 0, String.valueOf(e.getReason()));
        }
    }

    static CrabException corrupt(Path file, long offset, String why) {
        return CrabException.of(
                ErrorCode.JOURNAL_CORRUPT,
                "the journal cannot be trusted",
                file + " at byte " + offset + ": " + why,
                CURE);
    }

    /** One pass over a file. */
    private static final class Scan {
        private final Path path;
        private final RandomAccessFile file;
        private final long size;
        private final long durable;
        private final List<JournalRecord> records = new ArrayList<>();

        Scan(Path path, RandomAccessFile file, long durable) throws IOException {
            this.path = path;
            this.file = file;
            this.size = file.length();
            this.durable = durable;
        }

        JournalReader run() throws IOException {
            if (size < durable) {
                throw corrupt(path, size, "the file ends here, and " + durable + " bytes of it were durable");
            }
            if (!readHeader()) {
                return new JournalReader(List.of(), 0, size, 0);
            }
            long at = JournalFormat.HEADER_BYTES;
            while (at < size) {
                Frame frame = frameAt(at, records.size());
                if (frame == null) {
                    refuseIfOnceDurable(at);
                    return new JournalReader(List.copyOf(records), at, size - at, durable);
                }
                JournalRecord entry = JournalFormat.record(frame.sequence, frame.payload);
                if (entry == null) {
                    throw corrupt(path, at, "the checksum holds, but the content is no record");
                }
                records.add(entry);
                at = frame.end;
            }
            return new JournalReader(List.copyOf(records), at, 0, durable);
        }

        private boolean readHeader() throws IOException {
            byte[] header = new byte[(int) Math.min(size, JournalFormat.HEADER_BYTES)];
            file.seek(0);
            file.readFully(header);
            Integer version = JournalFormat.version(header);
            if (version == null) {
                if (durable > 0) {
                    throw corrupt(path, 0, "this is not the header of a journal");
                }
                refuseIfOnceDurable(0);
                return false;
            }
            if (version != JournalFormat.VERSION) {
                throw CrabException.of(
                        ErrorCode.FORMAT_UNKNOWN,
                        "the journal " + path + " cannot be read",
                        "its format has version " + version + ", and this Crab knows " + JournalFormat.VERSION,
                        "use the Crab that wrote it, or a newer one");
            }
            return true;
        }

        /** The frame at that offset, or null if there is no intact one. */
        private @Nullable Frame frameAt(long at, long expectedSequence) throws IOException {
            if (size - at < JournalFormat.FRAME_BYTES) {
                return null;
            }
            byte[] head = new byte[JournalFormat.FRAME_BYTES];
            file.seek(at);
            file.readFully(head);
            ByteBuffer fields = ByteBuffer.wrap(head);
            int length = fields.getInt(4);
            long sequence = fields.getLong(8);
            boolean plausible = fields.getInt(0) == JournalFormat.FRAME_MARK
                    && length >= 0
                    && length <= StoreJson.MAX_BYTES
                    && length <= size - at - JournalFormat.FRAME_BYTES
                    && (expectedSequence < 0 || sequence == expectedSequence);
            if (!plausible) {
                return null;
            }
            byte[] payload = new byte[length];
            file.readFully(payload);
            return fields.getInt(24) == JournalFormat.frameCrc(head, payload)
                    ? new Frame(sequence, fields.getLong(16), payload, at + JournalFormat.FRAME_BYTES + length)
                    : null;
        }

        /**
         * A damaged place is a torn append only if nothing shows that it was once durable: neither the side file nor any intact frame
         * behind it.
         */
        private void refuseIfOnceDurable(long at) throws IOException {
            if (at < durable) {
                throw corrupt(path, at, "the record is damaged, and " + durable + " bytes were durable");
            }
            long next = nextMark(at + 1);
            while (next >= 0) {
                Frame later = frameAt(next, -1);
                if (later != null && later.durable > at) {
                    throw corrupt(
                            path,
                            at,
                            "the record is damaged, and record " + later.sequence + " at byte " + next
                                    + " was written when " + later.durable + " bytes were durable");
                }
                next = nextMark(next + 1);
            }
        }

        /** Offset of the next frame mark at or behind that offset, or -1. */
        private long nextMark(long from) throws IOException {
            byte[] window = new byte[1 << 16];
            long at = from;
            while (size - at >= JournalFormat.FRAME_BYTES) {
                int length = (int) Math.min(window.length, size - at);
                file.seek(at);
                file.readFully(window, 0, length);
                ByteBuffer bytes = ByteBuffer.wrap(window, 0, length);
                for (int i = 0; i + 4 <= length; i++) {
                    if (bytes.getInt(i) == JournalFormat.FRAME_MARK) {
                        return at + i;
                    }
                }
                at += length - 3;
            }
            return -1;
        }
    }

    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Frame(long sequence, long durable, byte[] payload, long end) {}
}
