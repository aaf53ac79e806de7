package dev.crab.runtime.criu;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;
import java.io.IOException;
import java.io.InputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What two dumps of a tree have in common if its processes did not change between them: a digest over memory, registers, descriptors,
 * queues, timers and whatever else CRIU writes, but for
 *
 * <ul>
 *   <li>what changes by itself: the inventory with the dump's own times, the clocks of the time namespace, and the restartable-sequence
 *       area of each thread, in which the kernel notes the processor it last ran on;
 *   <li>registers and memory of pid 1, which serves the runtime and is no part of what a turn did: every checkpoint of files alone is
 *       paired with an older pid 1, too.
 * </ul>
 *
 * <p>Layout of the images: two magic numbers of 4 bytes, then entries of a length (u32, little-endian) and a protocol buffer; the files
 * of pages hold pages and nothing else, in the order of the pagemap's entries that are present (CRIU 4.2, images/).
 */
public final class DumpFingerprint {
    /** Dumps larger than this are not compared: 64 MiB. Reading them twice would cost more than it saves. */
    public static final long LIMIT = 64L << 20;

    private static final int PID_1 = 1;
    private static final int PAGE = 4096;
    private static final int PAGEMAP_PARENT = 1;
    private static final int PAGEMAP_PRESENT = 4;
    private static final int RSEQ_MAX = 64;
    private static final int BUFFER = 1 << 17;
    private static final Pattern FLOWING = Pattern.compile("inventory\\.img|timens-\\d+\\.img|stats-.*|.*\\.log");

    private final Path images;

    /** By file of pages: offset to length of what is masked. */
    private final Map<String, NavigableMap<Long, Integer>> masks = new HashMap<>();

    private final List<String> ofPid1 = new ArrayList<>();

    private DumpFingerprint(Path images) {
        this.images = images;
    }

    /**
     * Reads the images of a dump.
     *
     * @return 64 hexadecimal digits; empty if the dump is larger than {@link #LIMIT}
     * @throws IOException if they cannot be read or are not what CRIU writes
     */
    public static String of(Path images) throws IOException {
        try {
            return new DumpFingerprint(images).read();
        } catch (BufferUnderflowException | IllegalArgumentException | IndexOutOfBoundsException e) {
            throw new IOException("the images of a dump are not as CRIU writes them: " + e, e);
        }
    }

    private String read() throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.list(images)) {
            files = all.sorted().toList();
        }
        long size = 0;
        for (Path file : files) {
            size += Files.size(file);
        }
        if (size > LIMIT) {
            return "";
        }
        for (Rpc.ProcessTreeEntry process : entries("pstree.img", Rpc.ProcessTreeEntry.parser(), 0)) {
            mask(process);
        }
        MessageDigest digest = sha256();
        for (Path file : files) {
            String name = file.getFileName().toString();
            if (!FLOWING.matcher(name).matches() && !ofPid1.contains(name)) {
                digest.update((name + '\0' + Files.size(file) + '\0').getBytes(StandardCharsets.UTF_8));
                content(file, digest, masks.getOrDefault(name, new TreeMap<>()));
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private void mask(Rpc.ProcessTreeEntry process) throws IOException {
        int pid = process.getPid();
        if (!Files.exists(images.resolve("pagemap-" + pid + ".img"))) {
            return; // a zombie has no memory
        }
        Map<Long, Integer> areas = new TreeMap<>();
        for (int thread : process.getThreadsList()) {
            String core = "core-" + thread + ".img";
            for (Rpc.CoreEntry entry : entries(core, Rpc.CoreEntry.parser(), 0)) {
                Rpc.RseqEntry rseq = entry.getThreadCore().getRseqEntry();
                if (rseq.getRseqAbiPointer() != 0) {
                    areas.put(rseq.getRseqAbiPointer(), Math.min(rseq.getRseqAbiSize(), RSEQ_MAX));
                }
            }
            if (pid == PID_1) {
                ofPid1.add(core);
            }
        }
        String pagemap = "pagemap-" + pid + ".img";
        Rpc.PagemapHead head = Rpc.PagemapHead.parseFrom(bodies(pagemap).get(0));
        String pages = "pages-" + head.getPagesId() + ".img";
        if (pid == PID_1) {
            ofPid1.addAll(List.of(pagemap, pages, "mm-1.img"));
            return;
        }
        long offset = 0;
        for (Rpc.PagemapEntry entry : entries(pagemap, Rpc.PagemapEntry.parser(), 1)) {
            long count = entry.hasNrPages() ? entry.getNrPages() : Integer.toUnsignedLong(entry.getCompatNrPages());
            boolean stored = entry.hasFlags()
                    ? (entry.getFlags() & PAGEMAP_PRESENT) != 0 && (entry.getFlags() & PAGEMAP_PARENT) == 0
                    : !entry.getInParent();
            if (stored) {
                long from = entry.getVaddr();
                long to = from + count * PAGE;
                for (Map.Entry<Long, Integer> area : areas.entrySet()) {
                    long begin = area.getKey();
                    if (begin >= from && begin < to) {
                        int length = (int) Math.min(area.getValue(), to - begin);
                        masks.computeIfAbsent(pages, name -> new TreeMap<>()).put(offset + begin - from, length);
                    }
                }
                offset += count * PAGE;
            }
        }
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
                ByteBuffer.wrap(Files.readAllBytes(images.resolve(name))).order(ByteOrder.LITTLE_ENDIAN);
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

    private static void content(Path file, MessageDigest digest, NavigableMap<Long, Integer> masked)
            throws IOException {
        byte[] buffer = new byte[BUFFER];
        long at = 0;
        try (InputStream in = Files.newInputStream(file)) {
            int length;
            while ((length = in.readNBytes(buffer, 0, BUFFER)) > 0) {
                // An area is aligned to its size, so that none reaches from one buffer into the next.
                for (Map.Entry<Long, Integer> area :
                        masked.subMap(at, at + length).entrySet()) {
                    int from = (int) (area.getKey() - at);
                    Arrays.fill(buffer, from, Math.min(length, from + area.getValue()), (byte) 0);
                }
                digest.update(buffer, 0, length);
                at += length;
            }
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
