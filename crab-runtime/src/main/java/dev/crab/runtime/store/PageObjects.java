package dev.crab.runtime.store;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.store.PageFormat.Footer;
import dev.crab.runtime.store.PageObjectWriter.Candidate;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sets of files as objects that share their pages of 4 KiB: a page that an earlier object holds is not written again but referred to.
 * What a dump adds to the store is what changed in its processes' memory since the dump before. Thread-safe.
 *
 * <p>Pages are taken from objects of the same owner, which the caller knows to stay, and from those of others. Of these a link is made
 * under a name of the owner's own, so that whoever deletes an object deletes only a name: nobody has to know who else uses it.
 */
public final class PageObjects {
    /** Bytes of memory for the digests of pages of recent objects: 64 MiB, which are those of 6 GiB of pages. */
    private static final long CACHE = 64L << 20;

    /** Objects of other owners that are looked through at most. */
    private static final int NEIGHBOURS = 8;

    /** Fewer pages than this (1 MiB) of another owner's object are not worth a link. */
    private static final int MIN_FOREIGN = 256;

    private static final Logger LOG = LoggerFactory.getLogger(PageObjects.class);

    private final ObjectStore store;
    private final Executor threads;
    private final Cache<ObjectRef, PageTable> tables = Caffeine.newBuilder()
            .maximumWeight(CACHE)
            .weigher((ObjectRef ref, PageTable table) -> table.weight())
            .build();

    /** @param threads that decompress and write what is unpacked */
    public PageObjects(ObjectStore store, Executor threads) {
        this.store = store;
        this.threads = threads;
    }

    /**
     * An object and what it needs beside itself.
     *
     * @param bases objects, or links to such, whose pages it uses; at most 16
     */
    public record Packed(ObjectRef object, List<ObjectRef> bases) {
        public Packed {
            bases = List.copyOf(bases);
        }

        /** The object and its bases. */
        public List<ObjectRef> all() {
            List<ObjectRef> all = new ArrayList<>();
            all.add(object);
            all.addAll(bases);
            return all;
        }
    }

    /**
     * Writes files as one object, durably as {@link ObjectStore#write} does. Links to other owners' objects are called
     * {@code <name>.base<n>}.
     *
     * @param name the object's; its owner is what stands before the first dot
     * @param files of different names {@code [A-Za-z0-9_-][A-Za-z0-9._-]{0,99}}; nobody may change them meanwhile
     * @param earlier the owner's object whose pages are used before all others, with its bases; it stays as long as the new one
     * @param neighbours objects of other owners, the likeliest first; they may vanish at any time
     * @throws CrabException DISK_FULL or IO_FAILED; then links may be left
     */
    public Packed pack(String name, List<Path> files, @Nullable Packed earlier, List<ObjectRef> neighbours) {
        List<Candidate> candidates = candidates(name, earlier, neighbours);
        PageObjectWriter writer = new PageObjectWriter(files, candidates);
        try {
            writer.plan();
        } catch (IOException e) {
            throw CrabException.io("the files of " + name + " cannot be read", e);
        }
        List<ObjectRef> bases = new ArrayList<>();
        for (int used : writer.used()) {
            ObjectRef base = candidates.get(used).ref();
            ObjectRef own = isOwned(base, name) ? base : link(candidates.get(used), name + ".base" + bases.size());
            if (own == null) {
                writer.giveUp(used);
            } else {
                bases.add(own);
            }
        }
        FaultPoints.reach("pack.linked");
        PageTable[] written = new PageTable[1];
        ObjectRef object = store.write(name, out -> written[0] = writer.write(out, bases));
        tables.put(object, written[0]);
        return new Packed(object, bases);
    }

    /**
     * Brings the files back into an existing empty directory. Nothing in it may be used unless this returns.
     *
     * @param limit bytes that all files together may have
     * @throws CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN, DISK_FULL or IO_FAILED
     */
    public void unpack(Packed packed, Path directory, long limit) {
        new PageObjectReader(store, packed.object(), packed.bases(), directory, limit, threads).unpack();
    }

    /** Null if what has that name now is not what it was. */
    private @Nullable ObjectRef link(Candidate candidate, String name) {
        ObjectRef link = store.link(candidate.ref(), name);
        if (link == null) {
            return null;
        }
        try {
            return read(link).digests().equals(candidate.pages().digests()) ? link : null;
        } catch (CrabException e) {
            LOG.debug("pages of {} are not used", candidate.ref().name(), e);
            return null;
        }
    }

    private List<Candidate> candidates(String name, @Nullable Packed earlier, List<ObjectRef> neighbours) {
        List<Candidate> candidates = new ArrayList<>();
        if (earlier != null) {
            earlier.all().forEach(ref -> add(candidates, ref, 0));
        }
        Set<ObjectRef> others = new LinkedHashSet<>(
                tables.policy().eviction().orElseThrow().hottest(4 * NEIGHBOURS).keySet());
        others.addAll(neighbours);
        others.removeIf(ref -> isOwned(ref, name));
        others.stream().limit(NEIGHBOURS).forEach(ref -> add(candidates, ref, MIN_FOREIGN));
        return candidates;
    }

    private void add(List<Candidate> candidates, ObjectRef ref, int minUsed) {
        PageTable table = tables.getIfPresent(ref);
        try {
            if (table == null) {
                table = read(ref);
                tables.put(ref, table);
            }
            candidates.add(new Candidate(ref, table, Math.max(minUsed, PageObjectWriter.MIN_USED)));
        } catch (CrabException e) {
            // Whoever needs it is going to be told. Here it only would have saved some writing.
            LOG.debug("pages of {} are not used again", ref.name(), e);
        }
    }

    private PageTable read(ObjectRef ref) {
        try (ObjectReader in = store.reader(ref)) {
            Footer footer = footer(in, ref);
            byte[] digests = in.read(footer.digestsAt(), Math.multiplyExact(footer.pages(), PageTable.DIGEST));
            CRC32C crc = new CRC32C();
            crc.update(digests);
            crc.update(in.read(footer.tableAt(), 4 * footer.blocks()));
            if ((int) crc.getValue() != footer.crc()) {
                throw PageObjectReader.corrupt(ref, "the digests of its pages do not match their checksum");
            }
            return PageTable.of(digests);
        }
    }

    static Footer footer(ObjectReader in, ObjectRef ref) {
        try {
            return PageFormat.footer(in.read(ref.length() - PageFormat.FOOTER, PageFormat.FOOTER), ref.length());
        } catch (IOException e) {
            throw PageObjectReader.corrupt(ref, String.valueOf(e.getMessage()));
        }
    }

    private static boolean isOwned(ObjectRef ref, String name) {
        String owner = name.substring(0, name.indexOf('.') + 1);
        return ref.name().startsWith(owner);
    }
}
