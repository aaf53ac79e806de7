package dev.crab.runtime.engine;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.store.PageObjects;
import dev.crab.runtime.store.ProcessImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Dumps that are being restored: one that several sandboxes are restored from at the same time, as branches are, is unpacked once. The others
 * get links to its files, which CRIU only reads. Thread-safe.
 */
final class SharedImages {
    private static final Logger LOG = LoggerFactory.getLogger(SharedImages.class);

    private final PageObjects pages;
    /** By the dump's content: links to an object have other names. */
    private final Map<String, Unpacked> unpacked = new ConcurrentHashMap<>();

    private record Unpacked(Path directory, CompletableFuture<List<Path>> files) {}

    SharedImages(PageObjects pages) {
        this.pages = pages;
    }

    /**
     * Brings a dump's images into an existing empty directory. Nothing in it may be used unless this returns. Followed by {@link #done}, in any case,
     * before the directory is deleted.
     *
     * @param limit bytes that all files together may have
     * @throws CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN, DISK_FULL or IO_FAILED
     */
    void unpack(ProcessImage processes, Path directory, long limit) {
        Unpacked own = new Unpacked(directory, new CompletableFuture<>());
        Unpacked other = unpacked.putIfAbsent(processes.dump().sha256(), own);
        if (other != null) {
            if (!isLinked(other, directory)) {
                DumpFile.unpack(pages, processes, directory, limit);
            }
            return;
        }
        try {
            DumpFile.unpack(pages, processes, directory, limit);
            try (Stream<Path> files = Files.list(directory)) {
                own.files.complete(files.toList());
            }
        } catch (IOException e) {
            throw CrabException.io("the images in " + directory + " cannot be listed", e);
        } finally {
            // Whoever waits unpacks for himself, then.
            own.files.completeExceptionally(new IOException("not unpacked"));
        }
    }

    private static boolean isLinked(Unpacked other, Path directory) {
        try {
            for (Path file : other.files.join()) {
                Files.createLink(directory.resolve(file.getFileName()), file);
            }
            return true;
        } catch (IOException | CompletionException e) {
            LOG.debug("images are unpacked once more", e);
            WorkDirectory.empty(directory);
            return false;
        }
    }

    /** The images in that directory are about to be deleted. */
    void done(ProcessImage processes, Path directory) {
        unpacked.computeIfPresent(
                processes.dump().sha256(), (key, entry) -> entry.directory.equals(directory) ? null : entry);
    }
}
