package dev.crab.runtime.snapshot;

import dev.crab.runtime.os.OwnFiles;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * The file {@code complete} of a copied snapshot: that it is whole, and whether it would survive a power cut. Until it would, it counts
 * only as long as the kernel that it was made under runs, since after a power cut its names may be on disk without what they stood for.
 */
final class SnapshotStamp {
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    private static final String DURABLE = "durable";
    private static final int MAX = 4096;

    private SnapshotStamp() {}

    /** Says that the snapshot in that directory is whole. */
    static void complete(Path directory, String id) throws IOException {
        Files.write(file(directory), text(id, bootId()));
    }

    /** Says that it is on disk, too, which the caller has seen to. On disk itself when this returns. */
    static void durable(Path directory, String id) throws IOException {
        Path draft = directory.resolve("complete.new");
        OwnFiles.remove(draft);
        try (FileOutputStream out = new FileOutputStream(draft.toFile())) {
            out.write(text(id, DURABLE));
            out.getFD().sync();
        }
        Files.move(draft, file(directory), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        try (FileChannel channel = FileChannel.open(directory)) {
            channel.force(true);
        }
    }

    static boolean isDurable(Path directory, String id) throws IOException {
        return Arrays.equals(read(directory, id), text(id, DURABLE));
    }

    /** Fails with SNAPSHOT_MISSING unless the snapshot is there, whole, and of that id. */
    static void check(Path directory, String id) throws IOException {
        byte[] found = read(directory, id);
        if (!Arrays.equals(found, text(id, DURABLE)) && !Arrays.equals(found, text(id, bootId()))) {
            throw SnapshotNames.unusable(
                    id,
                    file(directory)
                            + " does not say that it is whole: it was not on disk when the host went down, or was changed");
        }
        if (!Files.isDirectory(directory.resolve("upper"), LinkOption.NOFOLLOW_LINKS)) {
            throw SnapshotNames.unusable(id, directory.resolve("upper") + " is not there");
        }
    }

    private static byte[] read(Path directory, String id) throws IOException {
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            throw SnapshotNames.missing(id, new NoSuchFileException(directory.toString()));
        }
        try {
            return OwnFiles.read(file(directory), MAX);
        } catch (NoSuchFileException | OwnFiles.UnfitException e) {
            throw SnapshotNames.unusable(id, file(directory) + " is not there or no stamp");
        }
    }

    private static byte[] text(String id, String state) {
        String text = "crab-snapshot 1\nid " + id + "\nstate " + state + "\n";
        CRC32C sum = new CRC32C();
        sum.update(text.getBytes(StandardCharsets.US_ASCII));
        return (text + String.format("crc32c %08x\n", sum.getValue())).getBytes(StandardCharsets.US_ASCII);
    }

    private static String bootId() throws IOException {
        return Files.readString(BOOT_ID).strip();
    }

    private static Path file(Path directory) {
        return directory.resolve("complete");
    }
}
