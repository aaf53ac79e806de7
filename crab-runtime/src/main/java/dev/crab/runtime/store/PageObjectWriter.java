package dev.crab.runtime.store;

import com.github.luben.zstd.Zstd;
import dev.crab.runtime.store.PageFormat.Extent;
import dev.crab.runtime.store.PageFormat.FileRecipe;
import dev.crab.runtime.store.PageFormat.Footer;
import dev.crab.runtime.store.PageFormat.Recipe;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Writes one page object. It reads the files once to learn which of their pages it has to write, and those a second time to write them.
 * Used once, by one thread.
 */
final class PageObjectWriter {
    private static final int OWN = -1;
    private static final int LEVEL = 1;

    /** Below this many pages of it, an object is not worth depending on. */
    static final int MIN_USED = 16;

    /** An object of which less than one page in so many is used would keep more on the disk than it saves. */
    private static final int MAX_WASTE = 8;

    /**
     * An object whose pages may be used.
     *
     * @param minUsed fewer pages than this are not worth it
     */
    record Candidate(ObjectRef ref, PageTable pages, int minUsed) {}

    private final List<Path> files;
    private final List<Candidate> candidates;
    private final long[] lengths;
    private final String[] digests;
    private final PageTable own = new PageTable(1024);

    // By page of the whole dump, in the order of the files.
    private int[] source = new int[1024];
    private int[] ordinal = new int[1024];
    private int pages;

    /** By page that is written: its place in the dump. */
    private int[] origin = new int[1024];

    PageObjectWriter(List<Path> files, List<Candidate> candidates) {
        this.files = files;
        this.candidates = candidates;
        this.lengths = new long[files.size()];
        this.digests = new String[files.size()];
    }

    /** Reads the files; on return it is known which candidates are used. */
    void plan() throws IOException {
        for (int file = 0; file < files.size(); file++) {
            read(file);
        }
        int[] used = new int[candidates.size()];
        for (int page = 0; page < pages; page++) {
            if (source[page] != OWN) {
                used[source[page]]++;
            }
        }
        List<Integer> byUse = IntStream.range(0, used.length)
                .boxed()
                .sorted(Comparator.comparing(candidate -> -used[candidate]))
                .toList();
        for (int rank = 0; rank < byUse.size(); rank++) {
            int candidate = byUse.get(rank);
            long all = candidates.get(candidate).pages().count();
            if (rank >= PageFormat.MAX_BASES
                    || used[candidate] < candidates.get(candidate).minUsed()
                    || (long) used[candidate] * MAX_WASTE < all) {
                giveUp(candidate);
            }
        }
    }

    private void read(int file) throws IOException {
        MessageDigest ofPage = Digests.sha256();
        MessageDigest ofFile = Digests.sha256();
        byte[] buffer = new byte[PageFormat.BLOCK_PAGES * PageFormat.PAGE];
        byte[] digest = new byte[PageTable.DIGEST];
        try (InputStream in = Files.newInputStream(files.get(file))) {
            int length;
            while ((length = in.readNBytes(buffer, 0, buffer.length)) > 0) {
                lengths[file] += length;
                int end = PageFormat.pagesOf(length) * PageFormat.PAGE;
                Arrays.fill(buffer, length, end, (byte) 0);
                for (int at = 0; at < end; at += PageFormat.PAGE) {
                    ofPage.update(buffer, at, PageFormat.PAGE);
                    ofPage.digest(digest, 0, PageTable.DIGEST);
                    ofFile.update(digest);
                    add(digest);
                }
            }
        } catch (DigestException e) {
            throw new IllegalStateException(e);
        }
        digests[file] = PageFormat.digestOfFile(ofFile, lengths[file]);
    }

    private void add(byte[] digest) {
        if (pages == source.length) {
            source = Arrays.copyOf(source, pages * 2);
            ordinal = Arrays.copyOf(ordinal, pages * 2);
        }
        int page = pages++;
        // What follows a page here mostly follows it there, too, which makes for few and long extents.
        if (page > 0 && source[page - 1] != OWN) {
            int next = ordinal[page - 1] + 1;
            if (candidates.get(source[page - 1]).pages().holds(next, digest, 0)) {
                source[page] = source[page - 1];
                ordinal[page] = next;
                return;
            }
        }
        for (int candidate = 0; candidate < candidates.size(); candidate++) {
            int found = candidates.get(candidate).pages().find(digest, 0);
            if (found >= 0) {
                source[page] = candidate;
                ordinal[page] = found;
                return;
            }
        }
        takeAsOwn(page, digest);
    }

    private void takeAsOwn(int page, byte[] digest) {
        source[page] = OWN;
        int found = own.find(digest, 0);
        if (found < 0) {
            found = own.append(digest, 0);
            if (found == origin.length) {
                origin = Arrays.copyOf(origin, found * 2);
            }
            origin[found] = page;
        }
        ordinal[page] = found;
    }

    /** Does without a candidate: what would have come from it is written again. */
    void giveUp(int candidate) {
        byte[] digest = new byte[PageTable.DIGEST];
        for (int page = 0; page < pages; page++) {
            if (source[page] == candidate) {
                candidates.get(candidate).pages().copyDigest(ordinal[page], digest, 0);
                takeAsOwn(page, digest);
            }
        }
    }

    /** The candidates whose pages are used, by their index; at most {@link PageFormat#MAX_BASES}. */
    List<Integer> used() {
        return IntStream.range(0, pages)
                .map(page -> source[page])
                .filter(candidate -> candidate != OWN)
                .distinct()
                .sorted()
                .boxed()
                .toList();
    }

    /**
     * Writes the object.
     *
     * @param bases what each used candidate is called from now on, in the order of {@link #used}
     * @return the digests of the pages that it holds
     */
    PageTable write(OutputStream raw, List<ObjectRef> bases) throws IOException {
        long at = 0;
        DataOutputStream out = new DataOutputStream(raw);
        byte[] recipe = recipe(bases);
        out.write(PageFormat.MAGIC);
        out.writeByte(PageFormat.VERSION);
        out.writeInt(recipe.length);
        out.writeInt(PageFormat.crc(recipe, 0, recipe.length));
        out.write(recipe);
        at += PageFormat.MAGIC.length + 9 + recipe.length;
        int blocks = (own.count() + PageFormat.BLOCK_PAGES - 1) / PageFormat.BLOCK_PAGES;
        ByteBuffer table = ByteBuffer.allocate(4 * blocks);
        try (PageSource in = new PageSource()) {
            byte[] pagesOfBlock = new byte[PageFormat.BLOCK_PAGES * PageFormat.PAGE];
            for (int first = 0; first < own.count(); first += PageFormat.BLOCK_PAGES) {
                int count = Math.min(PageFormat.BLOCK_PAGES, own.count() - first);
                for (int i = 0; i < count; i++) {
                    in.read(origin[first + i], pagesOfBlock, i * PageFormat.PAGE);
                }
                byte[] plain = count == PageFormat.BLOCK_PAGES
                        ? pagesOfBlock
                        : Arrays.copyOf(pagesOfBlock, count * PageFormat.PAGE);
                byte[] block = Zstd.compress(plain, LEVEL);
                out.writeInt(block.length);
                out.writeInt(PageFormat.crc(block, 0, block.length));
                out.write(block);
                table.putInt(block.length);
                at += 8 + block.length;
            }
        }
        byte[] digestsOfPages = new byte[own.count() * PageTable.DIGEST];
        own.digests().get(digestsOfPages);
        CRC32C crc = new CRC32C();
        crc.update(digestsOfPages);
        crc.update(table.array());
        out.write(digestsOfPages);
        out.write(table.array());
        out.write(PageFormat.encode(new Footer(at, own.count(), blocks, (int) crc.getValue())));
        out.flush();
        return own;
    }

    private byte[] recipe(List<ObjectRef> bases) throws IOException {
        List<Integer> used = used();
        int page = 0;
        List<FileRecipe> recipes = new ArrayList<>();
        for (int file = 0; file < files.size(); file++) {
            List<Extent> extents = new ArrayList<>();
            int end = page + PageFormat.pagesOf(lengths[file]);
            while (page < end) {
                int first = page++;
                while (page < end && source[page] == source[first] && ordinal[page] == ordinal[first] + page - first) {
                    page++;
                }
                int from = source[first] == OWN ? 0 : 1 + used.indexOf(source[first]);
                extents.add(new Extent(from, ordinal[first], page - first));
            }
            recipes.add(new FileRecipe(
                    String.valueOf(files.get(file).getFileName()), lengths[file], digests[file], extents));
        }
        ByteArrayOutputStream plain = new ByteArrayOutputStream();
        PageFormat.write(new Recipe(bases, recipes), new DataOutputStream(plain));
        return Zstd.compress(plain.toByteArray(), LEVEL);
    }

    /** Reads pages of the dump by their number, mostly one after the other. */
    private final class PageSource implements AutoCloseable {
        private final int[] begins = new int[files.size() + 1];
        private int file;
        private @Nullable RandomAccessFile open;

        PageSource() {
            for (int i = 0; i < files.size(); i++) {
                begins[i + 1] = begins[i] + PageFormat.pagesOf(lengths[i]);
            }
        }

        void read(int page, byte[] target, int offset) throws IOException {
            RandomAccessFile in = open;
            if (in == null || page < begins[file] || page >= begins[file + 1]) {
                close();
                file = fileOf(page);
                in = new RandomAccessFile(files.get(file).toFile(), "r");
                open = in;
            }
            long at = (long) (page - begins[file]) * PageFormat.PAGE;
            int length = (int) Math.min(PageFormat.PAGE, lengths[file] - at);
            if (in.getFilePointer() != at) {
                in.seek(at);
            }
            try {
                in.readFully(target, offset, length);
            } catch (EOFException e) {
                throw new IOException(files.get(file) + " shrank", e);
            }
            Arrays.fill(target, offset + length, offset + PageFormat.PAGE, (byte) 0);
        }

        /** The last file that begins at or before the page, and is not empty. */
        private int fileOf(int page) {
            int found = Arrays.binarySearch(begins, page);
            int candidate = found >= 0 ? found : -found - 2;
            while (begins[candidate + 1] == begins[candidate]) {
                candidate++;
            }
            return candidate;
        }

        @Override
        public void close() throws IOException {
            if (open != null) {
                open.close();
            }
        }
    }
}
