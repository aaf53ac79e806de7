package dev.crab.runtime.store;

import com.github.luben.zstd.Zstd;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.store.PageFormat.Extent;
import dev.crab.runtime.store.PageFormat.FileRecipe;
import dev.crab.runtime.store.PageFormat.Footer;
import dev.crab.runtime.store.PageFormat.Recipe;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Brings the files of one page object back. Its own bytes are checked against its reference, and every file against the digest in the
 * recipe, whichever object its pages came from. Used once, by one thread.
 */
final class PageObjectReader implements AutoCloseable {
    private static final int BUFFER = 1 << 17;

    /** A place that a run of pages goes to. */
    private record Target(int ordinal, int count, int file, int page) {
        int end() {
            return ordinal + count;
        }
    }

    private final ObjectStore store;
    private final ObjectRef ref;
    private final List<ObjectRef> bases;
    private final Path directory;
    private final long limit;
    private final MessageDigest ofPage = Digests.sha256();
    private final byte[] packed = new byte[(int) Zstd.compressBound(PageFormat.BLOCK_PAGES * PageFormat.PAGE)];
    private final byte[] plain = new byte[PageFormat.BLOCK_PAGES * PageFormat.PAGE];

    private Recipe recipe = new Recipe(List.of(), List.of());
    private byte[][] digests = new byte[0][];
    private int openFile = -1;
    private @Nullable RandomAccessFile open;

    PageObjectReader(ObjectStore store, ObjectRef ref, List<ObjectRef> bases, Path directory, long limit) {
        this.store = store;
        this.ref = ref;
        this.bases = bases;
        this.directory = directory;
        this.limit = limit;
    }

    void unpack() {
        try (this) {
            readObject();
            for (int base = 0; base < recipe.bases().size(); base++) {
                readBase(recipe.bases().get(base), targets(base + 1));
            }
            checkFiles();
        } catch (EOFException e) {
            throw corrupt(ref, "it ends too early");
        } catch (Malformed e) {
            throw corrupt(ref, String.valueOf(e.getMessage()));
        } catch (IOException e) {
            throw CrabException.io("dump " + ref.name() + " cannot be unpacked", e);
        }
    }

    /** What is wrong is what was read, not the reading. */
    private static final class Malformed extends IOException {
        private static final long serialVersionUID = 1;

        Malformed(IOException cause) {
            super(String.valueOf(cause.getMessage()), cause);
        }
    }

    private void readObject() throws IOException {
        try (InputStream raw = store.open(ref)) {
            DataInputStream in = new DataInputStream(new BufferedInputStream(raw, BUFFER));
            readHead(in);
            List<Target> targets = targets(0);
            int pages = targets.stream().mapToInt(Target::end).max().orElse(0);
            createFiles();
            int at = 0;
            for (int first = 0; first < pages; first += PageFormat.BLOCK_PAGES) {
                at = place(in, ref, first, Math.min(PageFormat.BLOCK_PAGES, pages - first), targets, at);
            }
            // To the end, where the object's own digest is checked.
            in.transferTo(OutputStream.nullOutputStream());
        }
    }

    private void readHead(DataInputStream in) throws IOException {
        byte[] magic = in.readNBytes(PageFormat.MAGIC.length);
        int version = in.read();
        if (!Arrays.equals(magic, PageFormat.MAGIC) || version < 1) {
            throw corrupt(ref, "it does not begin like a dump");
        }
        if (version != PageFormat.VERSION) {
            // Only if the object is what was written does the version mean what it says.
            in.transferTo(OutputStream.nullOutputStream());
            throw CrabException.of(
                    ErrorCode.FORMAT_UNKNOWN,
                    "dump " + ref.name() + " cannot be read",
                    "its format has version " + version + ", and this Crab knows " + PageFormat.VERSION,
                    "use the version of Crab that wrote it");
        }
        try {
            int length = PageFormat.recipeLength(in);
            int crc = in.readInt();
            byte[] packed = in.readNBytes(length);
            PageFormat.check(packed.length == length && PageFormat.crc(packed, 0, length) == crc, "a damaged recipe");
            long size = Zstd.getFrameContentSize(packed);
            PageFormat.check(size >= 0 && size <= PageFormat.MAX_RECIPE, "a recipe of " + size + " bytes");
            byte[] content = new byte[(int) size];
            PageFormat.check(Zstd.decompress(content, packed) == size, "a recipe that cannot be decompressed");
            recipe = PageFormat.read(new DataInputStream(new ByteArrayInputStream(content)), limit);
            PageFormat.check(recipe.bases().equals(bases), "other bases than its manifest");
        } catch (EOFException e) {
            throw e;
        } catch (IOException e) {
            throw new Malformed(e);
        }
    }

    private void createFiles() throws IOException {
        digests = new byte[recipe.files().size()][];
        for (int file = 0; file < digests.length; file++) {
            FileRecipe it = recipe.files().get(file);
            digests[file] = new byte[Math.multiplyExact(it.pages(), PageTable.DIGEST)];
            try {
                Files.createFile(directory.resolve(it.name()));
            } catch (FileAlreadyExistsException e) {
                throw corrupt(ref, "it has two files " + it.name());
            }
        }
    }

    /** Where the pages of one source go, by their ordinal. */
    private List<Target> targets(int source) {
        List<Target> targets = new ArrayList<>();
        for (int file = 0; file < recipe.files().size(); file++) {
            int page = 0;
            for (Extent extent : recipe.files().get(file).extents()) {
                if (extent.source() == source) {
                    targets.add(new Target(extent.ordinal(), extent.count(), file, page));
                }
                page += extent.count();
            }
        }
        targets.sort(Comparator.comparingInt(Target::ordinal));
        return targets;
    }

    private void readBase(ObjectRef base, List<Target> targets) throws IOException {
        try (ObjectReader in = store.reader(base)) {
            Footer footer = PageObjects.footer(in, base);
            byte[] table = in.read(footer.tableAt(), 4 * footer.blocks());
            long[] ends = new long[footer.blocks()];
            long sum = 0;
            for (int block = 0; block < ends.length; block++) {
                sum += 8L + ByteBuffer.wrap(table, 4 * block, 4).getInt();
                ends[block] = sum;
            }
            int pages = targets.stream().mapToInt(Target::end).max().orElse(0);
            long begin = footer.digestsAt() - sum;
            if (pages > footer.pages() || begin < 0) {
                throw corrupt(base, "it does not have the pages that " + ref.name() + " needs of it");
            }
            int at = 0;
            BitSet blocks = blocks(targets);
            for (int block = blocks.nextSetBit(0); block >= 0; block = blocks.nextSetBit(block + 1)) {
                long from = block == 0 ? 0 : ends[block - 1];
                int length = Math.toIntExact(ends[block] - from);
                DataInputStream content = new DataInputStream(new ByteArrayInputStream(in.read(begin + from, length)));
                int count = Math.min(PageFormat.BLOCK_PAGES, footer.pages() - block * PageFormat.BLOCK_PAGES);
                at = place(content, base, block * PageFormat.BLOCK_PAGES, count, targets, at);
            }
        } catch (ArithmeticException e) {
            throw corrupt(base, "its blocks have impossible lengths");
        }
    }

    private static BitSet blocks(List<Target> targets) {
        BitSet blocks = new BitSet();
        for (Target target : targets) {
            blocks.set(
                    target.ordinal() / PageFormat.BLOCK_PAGES,
                    (target.end() + PageFormat.BLOCK_PAGES - 1) / PageFormat.BLOCK_PAGES);
        }
        return blocks;
    }

    /**
     * Reads a block and writes its pages to where they belong.
     *
     * @param first ordinal of its first page
     * @param count how many pages it must have
     * @param targets where pages go, by their ordinal
     * @param from no target before this one reaches into the block
     * @return the same for the next block
     */
    private int place(DataInputStream in, ObjectRef object, int first, int count, List<Target> targets, int from)
            throws IOException {
        decompress(in, object, count);
        int next = from;
        while (next < targets.size() && targets.get(next).end() <= first) {
            next++;
        }
        for (int i = next; i < targets.size() && targets.get(i).ordinal() < first + count; i++) {
            Target target = targets.get(i);
            int begin = Math.max(first, target.ordinal());
            int end = Math.min(first + count, target.end());
            if (begin < end) {
                int page = target.page() + begin - target.ordinal();
                write(target.file(), page, (begin - first) * PageFormat.PAGE, end - begin);
            }
        }
        return next;
    }

    private void decompress(DataInputStream in, ObjectRef object, int count) throws IOException {
        int length = in.readInt();
        int crc = in.readInt();
        if (length < 0 || length > packed.length) {
            throw corrupt(object, "it has a block of " + length + " bytes");
        }
        in.readFully(packed, 0, length);
        if (PageFormat.crc(packed, 0, length) != crc) {
            throw corrupt(object, "a block of it does not match its checksum");
        }
        long size = Zstd.decompressByteArray(plain, 0, plain.length, packed, 0, length);
        if (size != (long) count * PageFormat.PAGE) {
            throw corrupt(object, "a block of it cannot be decompressed");
        }
    }

    private void write(int file, int page, int offset, int count) throws IOException {
        FileRecipe it = recipe.files().get(file);
        for (int i = 0; i < count; i++) {
            try {
                ofPage.update(plain, offset + i * PageFormat.PAGE, PageFormat.PAGE);
                ofPage.digest(digests[file], (page + i) * PageTable.DIGEST, PageTable.DIGEST);
            } catch (DigestException e) {
                throw new IllegalStateException(e);
            }
        }
        long at = (long) page * PageFormat.PAGE;
        RandomAccessFile out = open(file);
        if (out.getFilePointer() != at) {
            out.seek(at);
        }
        out.write(plain, offset, (int) Math.min((long) count * PageFormat.PAGE, it.length() - at));
    }

    private RandomAccessFile open(int file) throws IOException {
        RandomAccessFile current = open;
        if (current != null && openFile == file) {
            return current;
        }
        close();
        String name = recipe.files().get(file).name();
        RandomAccessFile opened = new RandomAccessFile(directory.resolve(name).toFile(), "rw");
        openFile = file;
        open = opened;
        return opened;
    }

    private void checkFiles() {
        for (int file = 0; file < digests.length; file++) {
            FileRecipe it = recipe.files().get(file);
            if (!PageFormat.digestOfFile(digests[file], it.length()).equals(it.digest())) {
                throw corrupt(ref, "its file " + it.name() + " does not match its digest");
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (open != null) {
            open.close();
            open = null;
        }
    }

    static CrabException corrupt(ObjectRef ref, String why) {
        return CrabException.of(
                ErrorCode.OBJECT_CORRUPT,
                "dump " + ref.name() + " cannot be used",
                why,
                "restore an earlier generation");
    }
}
