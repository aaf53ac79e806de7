package dev.crab.runtime.store;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.os.OwnFiles;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A journal in a file. Only the holder of the session's {@link StoreLock} may open it for appending.
 *
 * <p>An append has two steps. Under the monitor the frame is written behind the last one; if that fails (a full disk), the file is cut
 * back to where it was and the journal goes on. Then it is flushed: the first caller that finds no flush under way becomes the leader
 * and flushes what is there for everyone; those who come meanwhile wait, and one of them leads the next flush. So callers side by
 * side share flushes and nobody waits for a timer. A record that is only written goes with the next flush.
 *
 * <p>A failed flush is different. Linux reports a write-back error once, and marks the pages clean although they never reached the disk;
 * flushing again would succeed and mean nothing. So the journal is then failed for good: every append is refused until it has been
 * opened anew, which reads and checks it, and writes what was never known to be flushed once more. The records whose flush failed are
 * cut off at once, so that they are not there then either, unless that too fails.
 *
 * <p>Files are written by {@link RandomAccessFile}, whose operations an interrupt does not break off.
 */
public final class FileJournal implements Journal, AutoCloseable {
    /** What its file is called. */
    static final String NAME = "journal";

    private static final String DURABLE = "journal.durable";

    private static final Logger LOG = LoggerFactory.getLogger(FileJournal.class);

    private final Path path;
    private final RandomAccessFile file;
    private final RandomAccessFile durableFile;
    private final List<JournalRecord> recovered;

    // Guarded by this.
    private long written;
    private long durable;
    private long nextSequence;
    private boolean flushing;
    private boolean closed;
    private @Nullable IOException failure;

    private FileJournal(Path path, RandomAccessFile file, RandomAccessFile durableFile, JournalReader content) {
        this.path = path;
        this.file = file;
        this.durableFile = durableFile;
        this.recovered = content.records();
        this.written = content.length();
        this.durable = content.length();
        this.nextSequence = content.records().size();
    }

    /**
     * Opens the journal in that directory, or makes it. The remains of a torn append are cut off with a warning.
     *
     * @throws CrabException JOURNAL_CORRUPT naming file and offset; FORMAT_UNKNOWN; DISK_FULL or IO_FAILED
     */
    public static FileJournal open(Path directory) {
        Path journal = directory.resolve(NAME);
        Path durableFile = directory.resolve(DURABLE);
        JournalReader content = JournalReader.read(journal, durableFile);
        try {
            if (content == null) {
                create(journal, durableFile, directory);
                content = new JournalReader(List.of(), JournalFormat.HEADER_BYTES, 0, 0);
            } else if (content.length() == 0) {
                // The header itself was torn: nothing was ever appended.
                Files.delete(journal);
                create(journal, durableFile, directory);
                content = new JournalReader(List.of(), JournalFormat.HEADER_BYTES, 0, 0);
            }
            return openForAppend(journal, durableFile, content);
        } catch (IOException e) {
            throw CrabException.io("the journal " + journal + " cannot be opened", e);
        }
    }

    /**
     * All records of a journal, without opening it for appending: for looking on, also while a living owner appends.
     *
     * @return empty if there is no journal
     * @throws CrabException JOURNAL_CORRUPT naming file and offset; FORMAT_UNKNOWN; IO_FAILED
     */
    public static List<JournalRecord> read(Path directory) {
        for (int attempt = 1; ; attempt++) {
            try {
                JournalReader content = JournalReader.read(directory.resolve(NAME), directory.resolve(DURABLE));
                return content == null ? List.of() : content.records();
            } catch (CrabException e) {
                // Beside a living owner the side file may be caught in the middle of being overwritten: that passes,
                // damage does not.
                if (e.code() != ErrorCode.JOURNAL_CORRUPT || attempt == 3) {
                    throw e;
                }
            }
        }
    }

    /**
     * Removes a journal, whatever state it is in. When this returns it is gone from the disk, so that what its commits name may go after
     * it. Broken off anywhere, it leaves a journal that can be read, or none.
     */
    static void remove(Path directory) throws IOException {
        Path durableFile = directory.resolve(DURABLE);
        if (Files.isRegularFile(durableFile, LinkOption.NOFOLLOW_LINKS)) {
            // In place: on a full disk, there may be no room for anything else.
            try (RandomAccessFile note = new RandomAccessFile(durableFile.toFile(), "rw")) {
                note.write(JournalFormat.durable(0));
                note.getFD().sync();
            } catch (IOException e) {
                LOG.debug("{}: not set back before its journal goes", durableFile, e);
            }
        }
        OwnFiles.remove(directory.resolve(NAME));
        DurableFiles.sync(directory);
        OwnFiles.remove(durableFile);
    }

    /** The side file first: a journal without one is taken for damaged, one without a journal for a crash in here. */
    private static void create(Path journal, Path durableFile, Path directory) throws IOException {
        byte[] nothing = JournalFormat.durable(0);
        DurableFiles.replace(durableFile, out -> out.write(nothing), () -> {});
        DurableFiles.create(journal);
        FaultPoints.reach("journal.created");
        try (RandomAccessFile file = new RandomAccessFile(journal.toFile(), "rw")) {
            file.write(JournalFormat.header());
            file.getFD().sync();
        }
        FaultPoints.reach("journal.headed");
        DurableFiles.sync(directory);
    }

    /** Makes a journal that holds records from the start; it appears in one step, whole. */
    static void create(Path directory, List<JournalRecord> records) throws IOException {
        byte[] nothing = JournalFormat.durable(0);
        DurableFiles.replace(directory.resolve(DURABLE), out -> out.write(nothing), () -> {});
        DurableFiles.replace(
                directory.resolve(NAME),
                raw -> {
                    OutputStream out = new BufferedOutputStream(raw, 1 << 16);
                    out.write(JournalFormat.header());
                    for (JournalRecord entry : records) {
                        out.write(JournalFormat.frame(
                                entry.sequence(), 0, JournalFormat.payload(entry.kind(), entry.body())));
                    }
                    out.flush();
                },
                () -> {});
    }

    private static FileJournal openForAppend(Path journal, Path durableFile, JournalReader content) throws IOException {
        // Both were found to be plain files when they were read.
        RandomAccessFile file = new RandomAccessFile(journal.toFile(), "rw");
        boolean done = false;
        try {
            if (content.torn() > 0) {
                LOG.warn(
                        "{}: dropped {} bytes behind byte {}: the remains of an append that a crash cut short",
                        journal,
                        content.torn(),
                        content.length());
                file.setLength(content.length());
            }
            FaultPoints.reach("journal.cut");
            writeAgain(file, Math.max(content.durable(), 0), content.length());
            file.getFD().sync();
            FileJournal opened =
                    new FileJournal(journal, file, new RandomAccessFile(durableFile.toFile(), "rw"), content);
            opened.noteDurable(content.length());
            done = true;
            return opened;
        } finally {
            if (!done) {
                file.close();
            }
        }
    }

    /**
     * Writes the part that is not known to be durable again, as it was read. It may so far be only in the page cache, and after a failed
     * flush its pages count as clean, so that flushing alone would do nothing.
     */
    private static void writeAgain(RandomAccessFile file, long from, long end) throws IOException {
        byte[] chunk = new byte[1 << 16];
        long at = from;
        while (at < end) {
            int length = (int) Math.min(chunk.length, end - at);
            file.seek(at);
            file.readFully(chunk, 0, length);
            file.seek(at);
            file.write(chunk, 0, length);
            at += length;
        }
    }

    @Override
    public List<JournalRecord> recovered() {
        return recovered;
    }

    @Override
    public JournalRecord append(String kind, ObjectNode body) {
        return appendMeasured(kind, body).entry();
    }

    @Override
    public JournalRecord write(String kind, ObjectNode body) {
        return written(kind, body).entry();
    }

    /**
     * What an append did.
     *
     * @param entry the record
     * @param bytes by how much it made the journal longer
     */
    public record Appended(JournalRecord entry, long bytes) {}

    /** As {@link #append}, and tells the size. */
    public Appended appendMeasured(String kind, ObjectNode body) {
        Written done = written(kind, body);
        flushUpTo(done.end);
        FaultPoints.reach("journal.noted");
        return new Appended(done.entry, done.bytes);
    }

    /** @param end of the record in the file */
    private record Written(JournalRecord entry, long bytes, long end) {}

    private Written written(String kind, ObjectNode body) {
        byte[] payload = JournalFormat.payload(kind, body);
        // The caller keeps its object: what it does to it later must not change what the record says.
        JournalRecord entry;
        long end;
        synchronized (this) {
            entry = new JournalRecord(nextSequence, kind, body.deepCopy());
            write(JournalFormat.frame(nextSequence, durable, payload));
            nextSequence++;
            end = written;
        }
        FaultPoints.reach("journal.written");
        return new Written(entry, JournalFormat.FRAME_BYTES + payload.length, end);
    }

    /** Bytes of the journal that are durable. */
    public synchronized long durableLength() {
        return durable;
    }

    /** Whether a failed flush has ended this journal; it must be opened anew before anything can be appended. */
    public synchronized boolean isFailed() {
        return failure != null;
    }

    private void write(byte[] frame) {
        checkUsable();
        try {
            file.seek(written);
            file.write(frame);
            written += frame.length;
        } catch (IOException e) {
            if (!cutBack(written)) {
                fail(e);
            }
            throw CrabException.io("a record cannot be appended to " + path, e);
        }
    }

    private void flushUpTo(long end) {
        boolean interrupted = false;
        try {
            while (true) {
                long target;
                synchronized (this) {
                    while (flushing && durable < end && failure == null) {
                        try {
                            wait();
                        } catch (InterruptedException e) {
                            // The record is written: to leave now would leave its caller not knowing whether it is
                            // durable.
                            interrupted = true;
                        }
                    }
                    if (durable >= end) {
                        return;
                    }
                    checkUsable();
                    flushing = true;
                    target = written;
                }
                flush(target);
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void flush(long target) {
        FaultPoints.reach("journal.flush");
        IOException problem = null;
        try {
            file.getFD().sync();
        } catch (IOException e) {
            problem = e;
        }
        FaultPoints.reach("journal.flushed");
        synchronized (this) {
            flushing = false;
            if (problem == null) {
                durable = target;
                noteDurable(target);
            } else {
                fail(problem);
                cutBack(durable);
            }
            notifyAll();
        }
    }

    /**
     * Writes the side file. Not flushed: it must survive a killed JVM, which it does in the page cache, and after a power cut an older
     * length is a lower bound all the same. For the same reason a failure here is no failure of the append.
     */
    private void noteDurable(long length) {
        try {
            durableFile.seek(0);
            durableFile.write(JournalFormat.durable(length));
        } catch (IOException e) {
            LOG.warn("{}: the durable length {} could not be noted beside it", path, length, e);
        }
    }

    private void flushRest() {
        long end;
        synchronized (this) {
            if (closed || failure != null) {
                return;
            }
            end = written;
        }
        try {
            flushUpTo(end);
        } catch (CrabException e) {
            LOG.warn("{}: the last records may not be on the disk", path, e);
        }
    }

    private boolean cutBack(long length) {
        try {
            file.setLength(length);
            return true;
        } catch (IOException e) {
            LOG.warn("{}: could not be cut back to {} bytes", path, length, e);
            return false;
        }
    }

    private void fail(IOException cause) {
        if (failure == null) {
            failure = cause;
            LOG.error("{}: failed; nothing more is appended until it is opened and checked anew", path, cause);
        }
    }

    private void checkUsable() {
        if (closed) {
            throw CrabException.of(
                    ErrorCode.IO_FAILED,
                    "a record cannot be appended to " + path,
                    "the session is closed",
                    "open the session again");
        }
        if (failure != null) {
            throw CrabException.of(
                    ErrorCode.IO_FAILED,
                    "a record cannot be appended to " + path,
                    "an earlier flush to the disk failed (" + CrabException.reason(failure)
                            + "), after which the system no longer tells what is on it",
                    "check the disk, then close the session and open it again, which checks the whole journal",
                    failure);
        }
    }

    /** Closes the files, once all that was written is durable; that it cannot be made so ends the journal like any failed flush. Idempotent. */
    @Override
    public void close() {
        flushRest();
        synchronized (this) {
            boolean interrupted = false;
            while (flushing) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            closed = true;
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        try (file;
                durableFile) {
            LOG.debug("{}: closed", path);
        } catch (IOException e) {
            throw CrabException.io("the journal " + path + " cannot be closed", e);
        }
    }
}
