package dev.crab.runtime.criu;

import dev.crab.runtime.criu.DumpImages.Memory;
import dev.crab.runtime.criu.DumpImages.Run;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.BufferUnderflowException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * A few pages of each process's memory, taken from a dump, by which a restore is told from a tree that only looks alike. Of each process
 * but pid 1 up to {@value #PAGES} pages that lie evenly over what was dumped of it. Pages with a restartable-sequence area are left
 * out: the kernel writes to them.
 */
public final class MemorySample {
    private static final int PAGES = 8;
    private static final int MAX_PAGES = 512;

    /**
     * A page of memory.
     *
     * @param pid the process, inside the pid namespace that was dumped
     * @param address of its first byte
     * @param sha256 of its bytes, 64 lower-case hexadecimal digits
     */
    public record Page(int pid, long address, String sha256) {}

    private MemorySample() {}

    /**
     * Reads the sample from the images of a dump.
     *
     * @return at most {@value #MAX_PAGES} pages
     * @throws IOException if the images cannot be read or are not what CRIU writes
     */
    public static List<Page> of(Path images) throws IOException {
        DumpImages dump = new DumpImages(images);
        List<Page> sample = new ArrayList<>();
        try {
            for (Rpc.ProcessTreeEntry process : dump.processes()) {
                Memory memory = process.getPid() == 1 ? null : dump.memory(process.getPid());
                if (memory != null && sample.size() < MAX_PAGES) {
                    add(sample, process.getPid(), memory, images, dump.rseqAreas(process));
                }
            }
        } catch (BufferUnderflowException | IllegalArgumentException | IndexOutOfBoundsException e) {
            throw new IOException("the images of a dump are not as CRIU writes them: " + e, e);
        }
        return sample;
    }

    private static void add(List<Page> sample, int pid, Memory memory, Path images, Map<Long, Integer> rseqAreas)
            throws IOException {
        long pages = memory.runs().stream().mapToLong(Run::bytes).sum() / DumpImages.PAGE;
        long wanted = Math.min(PAGES, pages);
        byte[] page = new byte[DumpImages.PAGE];
        try (RandomAccessFile file =
                new RandomAccessFile(images.resolve(memory.pages()).toFile(), "r")) {
            for (long i = 0; i < wanted; i++) {
                long offset = (2 * i + 1) * pages / (2 * wanted) * DumpImages.PAGE;
                long address = addressOf(memory, offset);
                if (rseqAreas.keySet().stream().noneMatch(area -> area >= address && area < address + page.length)) {
                    file.seek(offset);
                    file.readFully(page);
                    sample.add(new Page(pid, address, digest(page)));
                }
            }
        }
    }

    private static long addressOf(Memory memory, long offset) {
        for (Run run : memory.runs()) {
            if (offset >= run.offset() && offset < run.offset() + run.bytes()) {
                return run.address() + offset - run.offset();
            }
        }
        throw new IndexOutOfBoundsException("no page at " + offset);
    }

    /** SHA-256 as {@link Page#sha256} is. */
    public static String digest(byte[] page) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(page));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
