package dev.crab.runtime.store;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import dev.crab.runtime.fault.FaultPoints;
import dev.crab.runtime.os.OwnFiles;
import java.io.BufferedOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Objects as files, {@code <objects>/<xx>/<name>}, where {@code xx} are the first two digits of the SHA-256 of the name: a directory
 * that grows too long slows every file system down. Thread-safe.
 */
public final class FileObjectStore implements ObjectStore {
    private static final int BUFFER = 1 << 16;
    private static final Pattern SHELF = Pattern.compile("[0-9a-f]{2}");
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9._-]{0,124}");

    private final Path root;

    public FileObjectStore(DataDirectory data) {
        this.root = data.objects();
    }

    @Override
    public ObjectRef write(String name, ObjectWriter writer) {
        Path file = file(new ObjectRef(name, 0, "0".repeat(64)).name());
        MessageDigest digest = Digests.sha256();
        long[] length = new long[1];
        try {
            DurableFiles.directory(DurableFiles.parent(file));
            DurableFiles.replace(
                    file,
                    raw -> {
                        CountingOutput counting = new CountingOutput(raw, digest);
                        BufferedOutputStream out = new BufferedOutputStream(counting, BUFFER);
                        writer.writeTo(out);
                        out.flush();
                        length[0] = counting.count;
                    },
                    () -> {});
        } catch (IOException e) {
            throw CrabException.io("the object " + file + " cannot be written", e);
        }
        return new ObjectRef(name, length[0], Digests.hex(digest.digest()));
    }

    @Override
    public InputStream open(ObjectRef ref) {
        Path file = checked(ref);
        try {
            return new VerifiedInput(new FileInputStream(file.toFile()), file, ref);
        } catch (IOException e) {
            throw CrabException.io("the object " + file + " cannot be read", e);
        }
    }

    private Path checked(ObjectRef ref) {
        Path file = file(ref.name());
        try {
            if (!isShelf(DurableFiles.parent(file)) || !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                throw corrupt(file, "it is missing");
            }
            long size = Files.size(file);
            if (size != ref.length()) {
                throw corrupt(file, "it has " + size + " bytes instead of " + ref.length());
            }
            return file;
        } catch (IOException e) {
            throw CrabException.io("the object " + file + " cannot be read", e);
        }
    }

    @Override
    public ObjectReader reader(ObjectRef ref) {
        Path file = checked(ref);
        try {
            return new FileObjectReader(new RandomAccessFile(file.toFile(), "r"), file, ref.length());
        } catch (IOException e) {
            throw CrabException.io("the object " + file + " cannot be read", e);
        }
    }

    @Override
    public @Nullable ObjectRef link(ObjectRef ref, String name) {
        ObjectRef link = new ObjectRef(name, ref.length(), ref.sha256());
        Path file = file(name);
        try {
            DurableFiles.directory(DurableFiles.parent(file));
            Files.deleteIfExists(file);
            Files.createLink(file, file(ref.name()));
            FaultPoints.reach("object.linked");
            DurableFiles.sync(DurableFiles.parent(file));
            return link;
        } catch (NoSuchFileException e) {
            return null;
        } catch (FileSystemException e) {
            if (String.valueOf(e.getReason()).contains("Too many links")) {
                return null;
            }
            throw CrabException.io("the object " + file + " cannot be linked", e);
        } catch (IOException e) {
            throw CrabException.io("the object " + file + " cannot be linked", e);
        }
    }

    /**
     * Reads an object to its end and drops the content.
     *
     * @throws CrabException OBJECT_CORRUPT naming the file; IO_FAILED
     */
    public void verify(ObjectRef ref) {
        try (InputStream in = open(ref)) {
            in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            throw CrabException.io("the object " + file(ref.name()) + " cannot be read", e);
        }
    }

    /** Names of the objects, and of the remains of interrupted writes, that begin so; unordered. What is not Crab's is passed over. */
    public List<String> list(String prefix) {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> shelves = Files.newDirectoryStream(root)) {
            for (Path shelf : shelves) {
                if (isShelf(shelf)) {
                    list(shelf, prefix, names);
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw CrabException.io("the objects in " + root + " cannot be listed", e);
        }
        return names;
    }

    private void list(Path shelf, String prefix, List<String> names) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(shelf)) {
            for (Path file : files) {
                String name = String.valueOf(file.getFileName());
                if (name.startsWith(prefix) && NAME.matcher(name).matches() && file.equals(file(name))) {
                    names.add(name);
                }
            }
        } catch (NotDirectoryException | NoSuchFileException e) {
            // It has just gone.
        }
    }

    /** Whether objects may lie in it: a directory of the right name, and no link to one, through which another's would be deleted. */
    private static boolean isShelf(Path directory) {
        return SHELF.matcher(String.valueOf(directory.getFileName())).matches()
                && Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS);
    }

    /** Deletes what {@link #list} has named; does nothing if it is gone already. */
    public void delete(String name) {
        try {
            Path file = file(name);
            if (isShelf(DurableFiles.parent(file))) {
                OwnFiles.remove(file);
            }
        } catch (IOException e) {
            throw CrabException.io("the object " + name + " cannot be deleted", e);
        }
    }

    /** Bytes that deleting this name would free: none while the object has another. */
    public long bytesFreed(String name) {
        try {
            Path file = file(name);
            return Integer.valueOf(1).equals(Files.getAttribute(file, "unix:nlink")) ? Files.size(file) : 0;
        } catch (IOException e) {
            return 0; // it has just gone
        }
    }

    /** The file of an object. What an interrupted write of it left lies beside it. */
    Path file(String name) {
        String key = name.endsWith(DurableFiles.TEMPORARY)
                ? name.substring(0, name.length() - DurableFiles.TEMPORARY.length())
                : name;
        String shelf = Digests.sha256(key.getBytes(StandardCharsets.US_ASCII)).substring(0, 2);
        return root.resolve(shelf).resolve(name);
    }

    private static CrabException corrupt(Path file, String why) {
        return CrabException.of(
                ErrorCode.OBJECT_CORRUPT,
                "the object " + file + " cannot be trusted",
                why,
                "bring the file back from a backup");
    }

    /** Reads through {@code java.io}: an interrupt does not close it. */
    private record FileObjectReader(RandomAccessFile in, Path file, long size) implements ObjectReader {
        @Override
        public byte[] read(long offset, int length) {
            if (offset < 0 || length < 0 || offset > size - length) {
                throw corrupt(file, "it has no " + length + " bytes at " + offset);
            }
            byte[] bytes = new byte[length];
            try {
                in.seek(offset);
                in.readFully(bytes);
            } catch (IOException e) {
                throw CrabException.io("the object " + file + " cannot be read", e);
            }
            return bytes;
        }

        @Override
        public void close() {
            try {
                in.close();
            } catch (IOException e) {
                throw CrabException.io("the object " + file + " cannot be read", e);
            }
        }
    }

    /** Counts and digests what really goes to the file. */
    private static final class CountingOutput extends OutputStream {
        private final OutputStream out;
        private final MessageDigest digest;
        private long count;

        CountingOutput(OutputStream out, MessageDigest digest) {
            this.out = out;
            this.digest = digest;
        }

        @Override
        public void write(int b) throws IOException {
            out.write(b);
            digest.update((byte) b);
            count++;
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
            digest.update(bytes, offset, length);
            count += length;
        }
    }

    /** Gives exactly the reference's bytes, and the end only once they match. */
    private static final class VerifiedInput extends InputStream {
        private final InputStream in;
        private final Path file;
        private final ObjectRef ref;
        private final MessageDigest digest = Digests.sha256();
        private long left;
        private boolean verified;

        VerifiedInput(InputStream in, Path file, ObjectRef ref) {
            this.in = in;
            this.file = file;
            this.ref = ref;
            this.left = ref.length();
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (left == 0) {
                return end();
            }
            int read = in.read(bytes, offset, (int) Math.min(length, left));
            if (read < 0) {
                throw corrupt(file, "it ends " + left + " bytes early");
            }
            digest.update(bytes, offset, read);
            left -= read;
            return read;
        }

        private int end() {
            if (!verified && !Digests.hex(digest.digest()).equals(ref.sha256())) {
                throw corrupt(file, "it does not match its SHA-256");
            }
            verified = true;
            return -1;
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
