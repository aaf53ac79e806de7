package dev.crab.runtime.criu;

import dev.crab.runtime.criu.DumpImages.Memory;
import dev.crab.runtime.criu.DumpImages.Run;
import java.io.IOException;
import java.io.InputStream;
import java.nio.BufferUnderflowException;
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
 */
public final class DumpFingerprint {
    /** Dumps larger than this are not compared: 64 MiB. Reading them twice would cost more than it saves. */
    public static final long LIMIT = 64L << 20;

    private static final int PID_1 = 1;
    private static final int BUFFER = 1 << 17;
    private static final Pattern FLOWING = Pattern.compile("inventory\\.img|timens-\\d+\\.img|stats-.*|.*\\.log");

    private final Path images;
    private final DumpImages dump;

    /** By file of pages: offset to length of what is masked. */
    private final Map<String, NavigableMap<Long, Integer>> masks = new HashMap<>();

    private final List<String> ofPid1 = new ArrayList<>();

    private DumpFingerprint(Path images) {
        this.images = images;
        this.dump = new DumpImages(images);
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
        for (Rpc.ProcessTreeEntry process : dump.processes()) {
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
        Memory memory = dump.memory(pid);
        if (memory == null) {
            return; // a zombie
        }
        if (pid == PID_1) {
            process.getThreadsList().forEach(thread -> ofPid1.add(DumpImages.core(thread)));
            ofPid1.addAll(List.of(memory.pagemap(), memory.pages(), "mm-1.img"));
            return;
        }
        for (Map.Entry<Long, Integer> area : dump.rseqAreas(process).entrySet()) {
            for (Run run : memory.runs()) {
                if (run.holds(area.getKey())) {
                    long into = area.getKey() - run.address();
                    int length = (int) Math.min(area.getValue(), run.bytes() - into);
                    masks.computeIfAbsent(memory.pages(), name -> new TreeMap<>())
                            .put(run.offset() + into, length);
                }
            }
        }
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
