package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.os.OwnFiles;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** How a data directory has its snapshots: never in two ways, because those of the other one would be lost from sight. */
final class SnapshotHolding {
    private static final int MAX = 4096;

    private SnapshotHolding() {}

    /** Empty if it has none yet. */
    static Optional<SnapshotKind> of(Path data) {
        Path file = file(data);
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            try {
                String text = new String(OwnFiles.read(file, MAX), StandardCharsets.US_ASCII).strip();
                return Optional.of(Arrays.stream(SnapshotKind.values())
                        .filter(kind -> text.equals(name(kind)) && kind != SnapshotKind.AUTO)
                        .findFirst()
                        .orElseThrow(() -> CrabException.of(
                                ErrorCode.FORMAT_UNKNOWN,
                                "the snapshots in " + data + " cannot be used",
                                file + " names a kind of snapshots that is not known",
                                "use the version of Crab that wrote it, or a newer one")));
            } catch (OwnFiles.UnfitException e) {
                throw CrabException.of(
                        ErrorCode.DATA_DIRECTORY_UNUSABLE,
                        "the snapshots in " + data + " cannot be used",
                        file + ": " + e.getReason(),
                        "bring the file back from a backup: it is one line, reflink or copy",
                        e);
            } catch (IOException e) {
                throw CrabException.io(file + " cannot be read", e);
            }
        }
        return Files.exists(data.resolve("btrfs.img"), LinkOption.NOFOLLOW_LINKS)
                        || Files.exists(data.resolve("btrfs/snapshots"), LinkOption.NOFOLLOW_LINKS)
                ? Optional.of(SnapshotKind.BTRFS)
                : Optional.empty();
    }

    /** Fails with DATA_DIRECTORY_UNUSABLE if it has snapshots of another kind. */
    static void check(Path data, SnapshotKind wanted) {
        Optional<SnapshotKind> held = of(data);
        if (held.isPresent() && held.get() != wanted) {
            throw CrabException.of(
                    ErrorCode.DATA_DIRECTORY_UNUSABLE,
                    "snapshots by " + name(wanted) + " cannot be taken in " + data,
                    "it has its snapshots by " + name(held.get()) + ", and those could not be read any more",
                    "set crab.snapshotter to auto or " + name(held.get()) + ", or crab.data to another directory");
        }
    }

    /** Notes the kind, durably. {@code <data>/trees} exists. Of btrfs, what it makes is the note. */
    static void claim(Path data, SnapshotKind kind) throws IOException {
        if (of(data).isPresent()) {
            return;
        }
        Path file = file(data);
        Path draft = file.resolveSibling("kind.new");
        OwnFiles.remove(draft);
        try (FileOutputStream out = new FileOutputStream(draft.toFile())) {
            out.write((name(kind) + "\n").getBytes(StandardCharsets.US_ASCII));
            out.getFD().sync();
        }
        Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
        for (Path directory : new Path[] {data.resolve("trees"), data}) {
            try (FileChannel channel = FileChannel.open(directory)) {
                channel.force(true);
            }
        }
    }

    private static Path file(Path data) {
        return data.resolve("trees").resolve("kind");
    }

    static String name(SnapshotKind kind) {
        return kind.name().toLowerCase(Locale.ROOT);
    }
}
