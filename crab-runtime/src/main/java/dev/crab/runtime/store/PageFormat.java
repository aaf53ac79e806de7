package dev.crab.runtime.store;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * The layout of a page object, as {@code docs/store-format.md} specifies it: magic and version, recipe, blocks of pages, digests of the
 * pages, lengths of the blocks, footer. All numbers are big-endian.
 */
final class PageFormat {
    static final byte[] MAGIC = "CRABDUMP".getBytes(StandardCharsets.US_ASCII);
    static final byte[] END = "CRABDEND".getBytes(StandardCharsets.US_ASCII);
    static final int VERSION = 2;

    /** Bytes of a page: what CRIU's images of memory consist of. */
    static final int PAGE = 4096;

    /** Pages that are compressed together: 256 KiB. */
    static final int BLOCK_PAGES = 64;

    static final int FOOTER = 32;

    /** Other objects whose pages one may use. A restore reads from all of them. */
    static final int MAX_BASES = 16;

    static final int MAX_FILES = 1 << 20;
    static final int MAX_RECIPE = 1 << 28;
    private static final Pattern FILE_NAME = Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}");

    private PageFormat() {}

    /**
     * A run of a file's pages.
     *
     * @param source 0 for the object itself, n for the n-th of its bases
     * @param ordinal the first page in that object
     * @param count how many
     */
    record Extent(int source, int ordinal, int count) {}

    /**
     * A file, as its object has it.
     *
     * @param digest SHA-256 of the SHA-256 of each of its pages and its length (8 bytes)
     */
    record FileRecipe(String name, long length, String digest, List<Extent> extents) {
        int pages() {
            return pagesOf(length);
        }
    }

    record Recipe(List<ObjectRef> bases, List<FileRecipe> files) {}

    /** Where in an object the digests and the lengths of blocks begin, and how many of each there are. */
    record Footer(long digestsAt, int pages, int blocks, int crc) {
        long tableAt() {
            return digestsAt + (long) pages * PageTable.DIGEST;
        }
    }

    static int pagesOf(long length) {
        return Math.toIntExact((length + PAGE - 1) / PAGE);
    }

    static void write(Recipe recipe, DataOutputStream out) throws IOException {
        out.writeShort(recipe.bases().size());
        for (ObjectRef base : recipe.bases()) {
            out.writeUTF(base.name());
            out.writeLong(base.length());
            out.write(HexFormat.of().parseHex(base.sha256()));
        }
        out.writeInt(recipe.files().size());
        for (FileRecipe file : recipe.files()) {
            out.writeUTF(file.name());
            out.writeLong(file.length());
            out.write(HexFormat.of().parseHex(file.digest()));
            out.writeInt(file.extents().size());
            for (Extent extent : file.extents()) {
                out.writeByte(extent.source());
                out.writeInt(extent.ordinal());
                out.writeInt(extent.count());
            }
        }
    }

    /**
     * Reads a recipe without believing it.
     *
     * @param limit bytes that all files together may have
     * @throws IOException if it contradicts itself or its bounds
     */
    static Recipe read(DataInputStream in, long limit) throws IOException {
        int bases = in.readUnsignedShort();
        check(bases <= MAX_BASES, "more bases than may be: " + bases);
        List<ObjectRef> refs = new ArrayList<>();
        for (int i = 0; i < bases; i++) {
            try {
                refs.add(new ObjectRef(in.readUTF(), in.readLong(), digest(in)));
            } catch (IllegalArgumentException e) {
                throw new IOException("a base is " + e.getMessage(), e);
            }
        }
        int files = in.readInt();
        check(files >= 0 && files <= MAX_FILES, "an impossible number of files: " + files);
        List<FileRecipe> recipes = new ArrayList<>();
        long left = limit;
        for (int i = 0; i < files; i++) {
            String name = in.readUTF();
            long length = in.readLong();
            check(
                    FILE_NAME.matcher(name).matches() && length >= 0 && length <= left,
                    "an impossible file '" + name + "' of " + length + " bytes");
            left -= length;
            recipes.add(new FileRecipe(name, length, digest(in), extents(in, length, bases)));
        }
        check(in.read() < 0, "something follows its recipe");
        return new Recipe(refs, recipes);
    }

    private static List<Extent> extents(DataInputStream in, long length, int bases) throws IOException {
        int count = in.readInt();
        long pages = (length + PAGE - 1) / PAGE;
        check(count >= 0 && count <= pages, "more extents than pages");
        List<Extent> extents = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Extent extent = new Extent(in.readUnsignedByte(), in.readInt(), in.readInt());
            check(
                    extent.source <= bases
                            && extent.ordinal >= 0
                            && extent.count > 0
                            && extent.count <= pages
                            && extent.ordinal <= Integer.MAX_VALUE - extent.count,
                    "an impossible extent");
            pages -= extent.count;
            extents.add(extent);
        }
        check(pages == 0, "extents that do not cover their file");
        return extents;
    }

    private static String digest(DataInputStream in) throws IOException {
        byte[] digest = in.readNBytes(PageTable.DIGEST);
        if (digest.length < PageTable.DIGEST) {
            throw new EOFException();
        }
        return Digests.hex(digest);
    }

    static byte[] encode(Footer footer) {
        ByteBuffer bytes = ByteBuffer.allocate(FOOTER);
        bytes.putLong(footer.digestsAt)
                .putInt(footer.pages)
                .putInt(footer.blocks)
                .putInt(footer.crc);
        bytes.putInt(crc(bytes.array(), 0, bytes.position())).put(END);
        return bytes.array();
    }

    /** Reads a footer that stands at the end of an object of that length. */
    static Footer footer(byte[] content, long objectLength) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(content);
        Footer footer = new Footer(bytes.getLong(), bytes.getInt(), bytes.getInt(), bytes.getInt());
        int crc = crc(content, 0, bytes.position());
        check(
                bytes.getInt() == crc
                        && bytes.equals(ByteBuffer.wrap(END))
                        && footer.pages >= 0
                        && footer.blocks == (footer.pages + BLOCK_PAGES - 1) / BLOCK_PAGES
                        && footer.digestsAt > 0
                        && footer.tableAt() + 4L * footer.blocks + FOOTER == objectLength,
                "a footer that contradicts it");
        return footer;
    }

    static int crc(byte[] content, int offset, int length) {
        CRC32C crc = new CRC32C();
        crc.update(content, offset, length);
        return (int) crc.getValue();
    }

    /**
     * The digest of a file.
     *
     * @param pages those of its pages, one behind the other
     */
    static String digestOfFile(byte[] pages, long length) {
        MessageDigest digest = Digests.sha256();
        digest.update(pages);
        return digestOfFile(digest, length);
    }

    /** The same, where the digests of the pages have gone into it already. */
    static String digestOfFile(MessageDigest pages, long length) {
        pages.update(ByteBuffer.allocate(8).putLong(length).flip());
        return Digests.hex(pages.digest());
    }

    static int recipeLength(DataInputStream in) throws IOException {
        int length = in.readInt();
        check(length > 0 && length <= MAX_RECIPE, "a recipe of " + length + " bytes");
        return length;
    }

    static void check(boolean holds, String what) throws IOException {
        if (!holds) {
            throw new IOException("it has " + what);
        }
    }
}
