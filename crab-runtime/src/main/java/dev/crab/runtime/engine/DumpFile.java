package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.PageObjects;
import dev.crab.runtime.store.PageObjects.Packed;
import dev.crab.runtime.store.ProcessImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** CRIU's image files as one object, so that one file has to reach the disk and not thirty, and unchanged memory none of it. */
final class DumpFile {
    private DumpFile() {}

    /**
     * Packs a directory of images. What CRIU wrote for people is left out.
     *
     * @param earlier the sandbox's dump before, whose pages are used again
     * @param neighbours dumps of other sandboxes
     */
    static Packed pack(
            PageObjects objects, String name, Path images, @Nullable ProcessImage earlier, List<ObjectRef> neighbours) {
        List<Path> files;
        try (Stream<Path> listed = Files.list(images)) {
            files = listed.filter(file -> !isForPeople(file)).sorted().toList();
        } catch (IOException e) {
            throw CrabException.io("the images of " + name + " cannot be listed", e);
        }
        return objects.pack(name, files, earlier == null ? null : packed(earlier), neighbours);
    }

    /**
     * Unpacks into an existing empty directory. Nothing in it may be used unless this returns.
     *
     * @param limit bytes that all files together may have
     * @throws CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN, DISK_FULL or IO_FAILED
     */
    static void unpack(PageObjects objects, ProcessImage processes, Path directory, long limit) {
        objects.unpack(packed(processes), directory, limit);
    }

    private static Packed packed(ProcessImage processes) {
        return new Packed(processes.dump(), processes.bases());
    }

    private static boolean isForPeople(Path file) {
        String name = file.getFileName().toString();
        return name.endsWith(".log") || name.startsWith("stats-");
    }
}
