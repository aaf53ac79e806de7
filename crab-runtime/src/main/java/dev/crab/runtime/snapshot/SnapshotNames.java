package dev.crab.runtime.snapshot;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What all providers do alike with the names of volumes and snapshots, and with the directories that hold them. */
final class SnapshotNames {
    static final Set<PosixFilePermission> PRIVATE = PosixFilePermissions.fromString("rwx------");

    private static final String NAME = "[a-z0-9][a-z0-9._-]{0,120}";
    private static final Set<PosixFilePermission> ROOT = PosixFilePermissions.fromString("rwxr-xr-x");

    private SnapshotNames() {}

    static String valid(String id) {
        if (!id.matches(NAME)) {
            throw CrabException.of(
                    ErrorCode.NAME_INVALID,
                    "no volume or snapshot can be named '" + id + "'",
                    "names are lower-case letters, digits, '.', '_' and '-', at most 121",
                    "choose another name");
        }
        return id;
    }

    /** The directories in it that are called as volumes and snapshots are; whatever else lies there is not Crab's. */
    static List<String> list(Path directory) {
        return list(directory, NAME);
    }

    /** The same of those that are being made or removed. */
    static List<String> unfinished(Path directory) {
        return list(directory, "[sv]-" + NAME);
    }

    private static List<String> list(Path directory, String form) {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.filter(entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))
                    .map(entry -> entry.getFileName().toString())
                    .filter(name -> name.matches(form))
                    .toList();
        } catch (IOException e) {
            throw CrabException.io(directory + " cannot be listed", e);
        }
    }

    /** Makes the two empty directories of a new volume. */
    static void fill(Volume volume) throws IOException {
        FileAttribute<?> mode = PosixFilePermissions.asFileAttribute(ROOT);
        // The overlay shows the upper directory's own mode as that of the sandbox's root.
        Files.createDirectory(volume.upper(), mode);
        Files.setPosixFilePermissions(volume.upper(), ROOT);
        makeWork(volume);
    }

    static void makeWork(Volume volume) throws IOException {
        Files.createDirectory(volume.work(), PosixFilePermissions.asFileAttribute(PRIVATE));
    }

    static CrabException taken(String what, @Nullable IOException cause) {
        String cannot = what + " cannot be made";
        String cure = "choose another name or delete it";
        return cause == null
                ? CrabException.of(ErrorCode.NAME_TAKEN, cannot, "it exists", cure)
                : CrabException.of(ErrorCode.NAME_TAKEN, cannot, "it exists", cure, cause);
    }

    static CrabException missing(String id, IOException cause) {
        return CrabException.of(
                ErrorCode.SNAPSHOT_MISSING,
                "snapshot " + id + " cannot be used",
                "it is not there",
                "restore an earlier generation",
                cause);
    }

    static CrabException unusable(String id, String why) {
        return CrabException.of(
                ErrorCode.SNAPSHOT_MISSING, "snapshot " + id + " cannot be used", why, "restore an earlier generation");
    }
}
