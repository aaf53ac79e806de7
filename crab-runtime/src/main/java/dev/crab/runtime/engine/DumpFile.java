package dev.crab.runtime.engine;

import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.store.ObjectRef;
import dev.crab.runtime.store.ObjectStore;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * CRIU's image files packed into one object, so that one file has to reach the disk and not thirty.
 *
 * <p>Layout (all numbers big-endian): the magic {@code CRABDUMP}, a version byte 1, then one zstd frame of: for each file a name
 * (u16 length, ASCII), a content (u64 length, bytes) and the CRC-32C of the content (u32); at the end a name of length 0 and the number
 * of files (u32). See docs/store-format.md.
 */
final class DumpFile {
    private static final byte[] MAGIC = "CRABDUMP".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 1;
    private static final int LEVEL = 1;
    private static final int MAX_FILES = 1 << 20;
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}");
    private static final int BUFFER = 1 << 17;

    private DumpFile() {}

    /** Packs a directory of images. What CRIU wrote for people is left out. */
    static ObjectRef pack(ObjectStore store, String name, Path images) {
        return store.write(name, raw -> {
            raw.write(MAGIC);
            raw.write(VERSION);
            try (ZstdOutputStreamNoFinalizer zstd = new ZstdOutputStreamNoFinalizer(new Unclosed(raw), LEVEL)) {
                zstd.setChecksum(true);
                DataOutputStream out = new DataOutputStream(zstd);
                List<Path> files;
                try (Stream<Path> listed = Files.list(images)) {
                    files = listed.filter(file -> !isForPeople(file)).sorted().toList();
                }
                byte[] buffer = new byte[BUFFER];
                for (Path file : files) {
                    write(file, out, buffer);
                }
                out.writeShort(0);
                out.writeInt(files.size());
                out.flush();
            }
        });
    }

    private static boolean isForPeople(Path file) {
        String name = file.getFileName().toString();
        return name.endsWith(".log") || name.startsWith("stats-");
    }

    private static void write(Path file, DataOutputStream out, byte[] buffer) throws IOException {
        byte[] name = file.getFileName().toString().getBytes(StandardCharsets.US_ASCII);
        long size = Files.size(file);
        out.writeShort(name.length);
        out.write(name);
        out.writeLong(size);
        CRC32C crc = new CRC32C();
        long left = size;
        try (InputStream in = Files.newInputStream(file)) {
            int length;
            while (left > 0 && (length = in.read(buffer, 0, (int) Math.min(BUFFER, left))) > 0) {
                crc.update(buffer, 0, length);
                out.write(buffer, 0, length);
                left -= length;
            }
        }
        if (left > 0) {
            throw new EOFException(file + " shrank");
        }
        out.writeInt((int) crc.getValue());
    }

    /**
     * Unpacks into an existing empty directory. Nothing in it may be used unless this returns.
     *
     * @param limit bytes that all files together may have
     * @throws CrabException OBJECT_CORRUPT, FORMAT_UNKNOWN, DISK_FULL or IO_FAILED
     */
    static void unpack(ObjectStore store, ObjectRef ref, Path directory, long limit) {
        try (InputStream raw = new BufferedInputStream(store.open(ref), BUFFER)) {
            byte[] head = raw.readNBytes(MAGIC.length);
            int version = raw.read();
            if (!Arrays.equals(head, MAGIC) || version < 1) {
                throw corrupt(ref, "it does not begin like a dump");
            }
            if (version != VERSION) {
                // Only if the object is what was written does the version mean what it says.
                raw.transferTo(OutputStream.nullOutputStream());
                throw CrabException.of(
                        ErrorCode.FORMAT_UNKNOWN,
                        "dump " + ref.name() + " cannot be read",
                        "its format has version " + version + ", and " + VERSION + " is the newest known",
                        "use the version of Crab that wrote it, or a newer one");
            }
            unpackFiles(ref, new DataInputStream(new ZstdInputStreamNoFinalizer(raw)), directory, limit);
            // To the end, where the object's own digest is checked.
            if (raw.skip(1) > 0 || raw.read() >= 0) {
                throw corrupt(ref, "something follows its end");
            }
        } catch (EOFException e) {
            throw corrupt(ref, "it ends too early");
        } catch (ZstdIOException e) {
            throw corrupt(ref, String.valueOf(e.getMessage()));
        } catch (IOException e) {
            throw CrabException.io("dump " + ref.name() + " cannot be unpacked", e);
        }
    }

    private static void unpackFiles(ObjectRef ref, DataInputStream in, Path directory, long limit) throws IOException {
        byte[] buffer = new byte[BUFFER];
        long total = 0;
        int files = 0;
        int nameLength;
        while ((nameLength = in.readUnsignedShort()) > 0) {
            String name = new String(in.readNBytes(nameLength), StandardCharsets.US_ASCII);
            long size = in.readLong();
            if (!NAME.matcher(name).matches() || size < 0 || size > limit - total || ++files > MAX_FILES) {
                throw corrupt(ref, "it has an impossible file '" + name + "' of " + size + " bytes");
            }
            total += size;
            CRC32C crc = new CRC32C();
            try (OutputStream out = Files.newOutputStream(
                    directory.resolve(name), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                for (long left = size; left > 0; ) {
                    int length = in.read(buffer, 0, (int) Math.min(BUFFER, left));
                    if (length < 0) {
                        throw new EOFException();
                    }
                    crc.update(buffer, 0, length);
                    out.write(buffer, 0, length);
                    left -= length;
                }
            }
            if (in.readInt() != (int) crc.getValue()) {
                throw corrupt(ref, "its file " + name + " does not match its checksum");
            }
        }
        if (in.readInt() != files) {
            throw corrupt(ref, "files are missing in it");
        }
        if (in.read() >= 0) {
            throw corrupt(ref, "something follows its files");
        }
    }

    private static CrabException corrupt(ObjectRef ref, String why) {
        return CrabException.of(
                ErrorCode.OBJECT_CORRUPT,
                "dump " + ref.name() + " cannot be used",
                why,
                "restore an earlier generation");
    }

    /** Ends a compressed stream without ending what it is part of. */
    static final class Unclosed extends FilterOutputStream {
        Unclosed(OutputStream out) {
            super(out);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
        }

        @Override
        public void close() throws IOException {
            out.flush();
        }
    }
}
