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
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.stream.IntStream;

/**
 * Brings the files of one page object back. Its own bytes are checked against its reference, and every file against the digest in the
 * recipe, whichever object its pages came from. Used once, by one thread, which has others decompress and write for it.
 */
final class PageObjectReader implements AutoCloseable {
    private static final int BUFFER = 1 << 17;

    /** Blocks that are decompressed and written while the next ones are read: 1 MiB of memory. */
    private static final int AT_ONCE = 2;

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
    private final Executor threads;
    private final List<UnpackedFile> files = new ArrayList<>();
    private final Queue<CompletableFuture<Void>> running = new ArrayDeque<>();
    private final Queue<Block> spare = new ConcurrentLinkedQueue<>();

    private Recipe recipe = new Recipe(List.of(), List.of());

    PageObjectReader(
            ObjectStore store, ObjectRef ref, List<ObjectRef> bases, Path directory, long limit, Executor threads) {
        this.store = store;
        this.ref = ref;
        this.bases = bases;
        this.directory = directory;
        this.limit = limit;
        this.threads = threads;
    }

    void unpack() {
        try (this) {
            readObject();
            for (int base = 0; base < bases.size(); base++) {
                readBase(bases.get(base), targets(base + 1));
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
            PageFormat.check(isSame(recipe.bases(), bases), "other bases than its manifest");
        } catch (EOFException e) {
            throw e;
        } catch (IOException e) {
            throw new Malformed(e);
        }
    }

    /** But for their names, which are others where the object was handed on to another owner. */
    private static boolean isSame(List<ObjectRef> bases, List<ObjectRef> others) {
        return bases.size() == others.size()
                && IntStream.range(0, bases.size())
                        .allMatch(i -> bases.get(i).length() == others.get(i).length()
                                && bases.get(i).sha256().equals(others.get(i).sha256()));
    }

    private void createFiles() throws IOException {
        Set<String> names = new HashSet<>();
        for (FileRecipe file : recipe.files()) {
            if (!names.add(file.name())) {
                throw corrupt(ref, "it has two files " + file.name());
            }
            files.add(new UnpackedFile(directory.resolve(file.name()), file));
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
     * Reads a block and has its pages written to where they belong.
     *
     * @param first ordinal of its first page
     * @param count how many pages it must have
     * @param targets where pages go, by their ordinal
     * @param from no target before this one reaches into the block
     * @return the same for the next block
     */
    private int place(DataInputStream in, ObjectRef object, int first, int count, List<Target> targets, int from)
            throws IOException {
        Block block = Objects.requireNonNullElseGet(spare.poll(), Block::new);
        block.read(in, object);
        int next = from;
        while (next < targets.size() && targets.get(next).end() <= first) {
            next++;
        }
        List<Run> runs = new ArrayList<>();
        for (int i = next; i < targets.size() && targets.get(i).ordinal() < first + count; i++) {
            Target target = targets.get(i);
            int begin = Math.max(first, target.ordinal());
            int end = Math.min(first + count, target.end());
            if (begin < end) {
                int page = target.page() + begin - target.ordinal();
                runs.add(new Run(files.get(target.file()), page, begin - first, end - begin));
            }
        }
        running.add(CompletableFuture.runAsync(() -> write(block, object, count, runs), threads));
        if (running.size() > AT_ONCE) {
            await(running.remove());
        }
        return next;
    }

    /**
     * Pages that belong behind one another in a file.
     *
     * @param page number of the first in the file
     * @param from number of the first in the block
     */
    private record Run(UnpackedFile file, int page, int from, int count) {}

    /** A block on its way, with room for it. */
    private static final class Block {
        private final byte[] packed = new byte[(int) Zstd.compressBound(PageFormat.BLOCK_PAGES * PageFormat.PAGE)];
        private final byte[] plain = new byte[PageFormat.BLOCK_PAGES * PageFormat.PAGE];
        private int length;

        void read(DataInputStream in, ObjectRef object) throws IOException {
            length = in.readInt();
            int crc = in.readInt();
            if (length < 0 || length > packed.length) {
                throw corrupt(object, "it has a block of " + length + " bytes");
            }
            in.readFully(packed, 0, length);
            if (PageFormat.crc(packed, 0, length) != crc) {
                throw corrupt(object, "a block of it does not match its checksum");
            }
        }

        void write(ObjectRef object, int count, List<Run> runs) throws IOException {
            long size = Zstd.decompressByteArray(plain, 0, plain.length, packed, 0, length);
            if (size != (long) count * PageFormat.PAGE) {
                throw corrupt(object, "a block of it cannot be decompressed");
            }
            for (Run run : runs) {
                run.file().write(run.page(), plain, run.from() * PageFormat.PAGE, run.count());
            }
        }
    }

    private void checkFiles() throws IOException {
        while (!running.isEmpty()) {
            await(running.remove());
        }
        for (UnpackedFile file : files) {
            if (!file.isWhole()) {
                throw corrupt(ref, "its file " + file.name() + " does not match its digest");
            }
        }
    }

    private void write(Block block, ObjectRef object, int count, List<Run> runs) {
        try {
            block.write(object, count, runs);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        spare.add(block);
    }

    private static void await(CompletableFuture<Void> writing) throws IOException {
        try {
            writing.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof UncheckedIOException io) {
                throw io.getCause();
            }
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw e;
        }
    }

    /** Whoever comes next may delete the directory: nothing is on its way into it any more. */
    @Override
    public void close() throws IOException {
        for (CompletableFuture<Void> writing : running) {
            writing.handle((done, failure) -> null).join();
        }
        for (UnpackedFile file : files) {
            file.close();
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
