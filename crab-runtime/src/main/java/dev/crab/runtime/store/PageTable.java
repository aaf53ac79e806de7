package dev.crab.runtime.store;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The pages of a page object in their order, by their SHA-256: ordinal to digest and digest to ordinal. Open addressing by the first
 * bytes of the digest, which is as good as random. Not thread-safe while it grows.
 */
final class PageTable {
    static final int DIGEST = 32;

    private byte[] digests;
    private int[] slots;
    private int count;

    PageTable(int expected) {
        digests = new byte[Math.multiplyExact(Math.max(16, expected), DIGEST)];
        slots = new int[slotsFor(Math.max(16, expected))];
    }

    /** A table of digests that stand one behind the other. */
    static PageTable of(byte[] digests) {
        PageTable table = new PageTable(digests.length / DIGEST);
        for (int at = 0; at < digests.length; at += DIGEST) {
            table.append(digests, at);
        }
        return table;
    }

    int count() {
        return count;
    }

    /** Bytes of memory that it takes. */
    int weight() {
        return digests.length + 4 * slots.length;
    }

    /** The ordinal of the page with that digest, or -1. */
    int find(byte[] digest, int offset) {
        int mask = slots.length - 1;
        for (int slot = hash(digest, offset) & mask; slots[slot] != 0; slot = (slot + 1) & mask) {
            int ordinal = slots[slot] - 1;
            if (holds(ordinal, digest, offset)) {
                return ordinal;
            }
        }
        return -1;
    }

    /** Whether a page is there and has that digest. */
    boolean holds(int ordinal, byte[] digest, int offset) {
        int at = ordinal * DIGEST;
        return ordinal < count && Arrays.equals(digests, at, at + DIGEST, digest, offset, offset + DIGEST);
    }

    /** Adds a page; of two with the same digest the first is found. */
    int append(byte[] digest, int offset) {
        if (count == digests.length / DIGEST) {
            digests = Arrays.copyOf(digests, Math.multiplyExact(digests.length, 2));
            rehash();
        }
        System.arraycopy(digest, offset, digests, count * DIGEST, DIGEST);
        enter(count);
        return count++;
    }

    /** The digests, one behind the other; not to be changed, and valid until the next append. */
    ByteBuffer digests() {
        return ByteBuffer.wrap(digests, 0, count * DIGEST).asReadOnlyBuffer();
    }

    void copyDigest(int ordinal, byte[] target, int offset) {
        System.arraycopy(digests, ordinal * DIGEST, target, offset, DIGEST);
    }

    private void enter(int ordinal) {
        int mask = slots.length - 1;
        int slot = hash(digests, ordinal * DIGEST) & mask;
        while (slots[slot] != 0) {
            slot = (slot + 1) & mask;
        }
        slots[slot] = ordinal + 1;
    }

    private void rehash() {
        slots = new int[slotsFor(digests.length / DIGEST)];
        for (int ordinal = 0; ordinal < count; ordinal++) {
            enter(ordinal);
        }
    }

    /** At most half of the slots are ever taken. */
    private static int slotsFor(int pages) {
        return Integer.highestOneBit(Math.multiplyExact(pages, 2)) << 1;
    }

    private static int hash(byte[] digest, int offset) {
        return (digest[offset] & 0xff) << 24
                | (digest[offset + 1] & 0xff) << 16
                | (digest[offset + 2] & 0xff) << 8
                | (digest[offset + 3] & 0xff);
    }
}
