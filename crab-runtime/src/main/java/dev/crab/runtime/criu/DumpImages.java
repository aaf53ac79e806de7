package dev.crab.runtime.criu;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads the image files of a dump. Layout: two magic numbers of 4 bytes, then entries of a length (u32, little-endian) and a protocol
 * buffer; the files of pages hold pages and nothing else, in the order of the pagemap's entries that are present (CRIU 4.2, images/).
 */
final class DumpImages {
    static final int PAGE = 4096;

    private static final int PAGEMAP_PARENT = 1;
    private static final int PAGEMAP_PRESENT = 4;
    private static final int RSEQ_MAX = 64;

    private final Path directory;

    DumpImages(Path directory) {
        this.directory = directory;
    }

    /**
     * Pages that lie one behind the other, in the address space and in their file.
     *
     * @param address of the first
     * @param offset where they begin in the file
     * @param bytes how long they are
     */
    record Run(long address, long offset, long bytes) {
        /** Whether they hold that address. */
        boolean holds(long at) {
            return at >= address && at < address + bytes;
        }
    }

    /**
     * A process's memory.
     *
     * @param pagemap name of the image that lists the pages
     * @param pages name of the file that holds them
     */
    record Memory(String pagemap, String pages, List<Run> runs) {}

    List<Rpc.ProcessTreeEntry> processes() throws IOException {
        return entries("pstree.img", Rpc.ProcessTreeEntry.parser(), 0);
    }

    /** Null for a process without memory, a zombie. */
    @Nullable
    Memory memory(int pid) throws IOException {
        String pagemap = "pagemap-" + pid + ".img";
        if (!Files.exists(directory.resolve(pagemap))) {
            return null;
        }
        Rpc.PagemapHead head = Rpc.PagemapHead.parseFrom(bodies(pagemap).get(0));
        List<Run> runs = new ArrayList<>();
        long offset = 0;
        for (Rpc.PagemapEntry entry : entries(pagemap, Rpc.PagemapEntry.parser(), 1)) {
            long count = entry.hasNrPages() ? entry.getNrPages() : Integer.toUnsignedLong(entry.getCompatNrPages());
            boolean stored = entry.hasFlags()
                    ? (entry.getFlags() & PAGEMAP_PRESENT) != 0 && (entry.getFlags() & PAGEMAP_PARENT) == 0
                    : !entry.getInParent();
            if (stored) {
                runs.add(new Run(entry.getVaddr(), offset, count * PAGE));
                offset += count * PAGE;
            }
        }
        return new Memory(pagemap, "pages-" + head.getPagesId() + ".img", runs);
    }

    static String core(int thread) {
        return "core-" + thread + ".img";
    }

    /** Address to length of the restartable-sequence areas of a process's threads, which the kernel writes to whenever one runs. */
    Map<Long, Integer> rseqAreas(Rpc.ProcessTreeEntry process) throws IOException {
        Map<Long, Integer> areas = new TreeMap<>();
        for (int thread : process.getThreadsList()) {
            for (Rpc.CoreEntry entry : entries(core(thread), Rpc.CoreEntry.parser(), 0)) {
                Rpc.RseqEntry rseq = entry.getThreadCore().getRseqEntry();
                if (rseq.getRseqAbiPointer() != 0) {
                    areas.put(rseq.getRseqAbiPointer(), Math.min(rseq.getRseqAbiSize(), RSEQ_MAX));
                }
            }
        }
        return areas;
    }

    private <T> List<T> entries(String name, Parser<T> parser, int skip) throws IOException {
        List<T> entries = new ArrayList<>();
        List<ByteBuffer> bodies = bodies(name);
        for (ByteBuffer body : bodies.subList(Math.min(skip, bodies.size()), bodies.size())) {
            try {
                entries.add(parser.parseFrom(body));
            } catch (InvalidProtocolBufferException e) {
                throw new IOException(name + " is not as CRIU writes it: " + e.getMessage(), e);
            }
        }
        return entries;
    }

    private List<ByteBuffer> bodies(String name) throws IOException {
        ByteBuffer image =
                ByteBuffer.wrap(Files.readAllBytes(directory.resolve(name))).order(ByteOrder.LITTLE_ENDIAN);
        image.position(8);
        List<ByteBuffer> bodies = new ArrayList<>();
        while (image.hasRemaining()) {
            int length = image.getInt();
            bodies.add(image.slice(image.position(), length));
            image.position(image.position() + length);
        }
        if (bodies.isEmpty()) {
            throw new IOException(name + " holds nothing");
        }
        return bodies;
    }
}
