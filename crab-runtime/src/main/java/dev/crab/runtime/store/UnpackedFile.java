package dev.crab.runtime.store;

import dev.crab.runtime.store.PageFormat.FileRecipe;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.DigestException;
import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/**
 * One file that is put together from its pages, in whatever order and by whatever threads they come. Thread-safe. It is open from its
 * first page to its last, so that of many small files few are open at a time.
 */
final class UnpackedFile implements AutoCloseable {
    private final Path path;
    private final FileRecipe recipe;
    private final byte[] digests;
    private int missing;
    private @Nullable FileChannel channel;

    /** Fails if there is a file of that name. */
    UnpackedFile(Path path, FileRecipe recipe) throws IOException {
        this.path = path;
        this.recipe = recipe;
        this.digests = new byte[Math.multiplyExact(recipe.pages(), PageTable.DIGEST)];
        this.missing = recipe.pages();
        if (missing == 0) {
            create().close();
        }
    }

    /**
     * Takes pages.
     *
     * @param page the first one's number in the file
     */
    void write(int page, byte[] content, int offset, int count) throws IOException {
        MessageDigest digest = Digests.sha256();
        try {
            for (int i = 0; i < count; i++) {
                digest.update(content, offset + i * PageFormat.PAGE, PageFormat.PAGE);
                digest.digest(digests, (page + i) * PageTable.DIGEST, PageTable.DIGEST);
            }
        } catch (DigestException e) {
            throw new IllegalStateException("a digest has the length that it has", e);
        }
        long at = (long) page * PageFormat.PAGE;
        int length = (int) Math.min((long) count * PageFormat.PAGE, recipe.length() - at);
        ByteBuffer bytes = ByteBuffer.wrap(content, offset, length);
        FileChannel out = channel();
        while (bytes.hasRemaining()) {
            at += out.write(bytes, at);
        }
        written(count);
    }

    private synchronized FileChannel channel() throws IOException {
        FileChannel open = channel;
        if (open == null) {
            open = create();
            channel = open;
        }
        return open;
    }

    private FileChannel create() throws IOException {
        return FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    private synchronized void written(int count) throws IOException {
        missing -= count;
        if (missing == 0) {
            close();
        }
    }

    /** Whether it is what the recipe says. Once all pages are there. */
    synchronized boolean isWhole() {
        return missing == 0 && PageFormat.digestOfFile(digests, recipe.length()).equals(recipe.digest());
    }

    String name() {
        return recipe.name();
    }

    @Override
    public synchronized void close() throws IOException {
        if (channel != null) {
            channel.close();
            channel = null;
        }
    }
}
