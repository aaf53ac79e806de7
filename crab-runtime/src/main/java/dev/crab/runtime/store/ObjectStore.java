package dev.crab.runtime.store;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/** Where the bulk of a checkpoint lies: immutable objects, each one file with a known length and digest. Thread-safe. */
public interface ObjectStore {
    /** Writes an object's content; called once. */
    @FunctionalInterface
    interface ObjectWriter {
        /** Writes all content to the stream, which it need not close or buffer. */
        void writeTo(OutputStream out) throws IOException;
    }

    /**
     * Writes an object: temporary file, fsync, rename, fsync of the directory. On return it would survive a power cut. An object of that
     * name that is there already is replaced in one step. If anything fails, no trace of the attempt is left.
     *
     * @param name {@code [a-z0-9][a-z0-9._-]{0,120}}
     * @return what was written: its name, length and digest
     * @throws dev.crab.runtime.error.CrabException DISK_FULL or IO_FAILED
     */
    ObjectRef write(String name, ObjectWriter writer);

    /**
     * Opens an object for reading. The stream gives at most the reference's length of bytes, and ends (reads -1) only if the content had
     * exactly that length and digest: the read that finds it otherwise throws OBJECT_CORRUPT. So whoever reads to the end may trust
     * what was read, and not before.
     *
     * @throws dev.crab.runtime.error.CrabException OBJECT_CORRUPT naming the file if it is missing or its length differs
     */
    InputStream open(ObjectRef ref);

    /**
     * Opens an object for reading parts of it.
     *
     * @throws dev.crab.runtime.error.CrabException OBJECT_CORRUPT naming the file if it is missing or its length differs
     */
    ObjectReader reader(ObjectRef ref);

    /**
     * Gives an object one more name, durably. It then stays until all its names are deleted; its bytes are stored once.
     *
     * @return the object under the new name; null if it is not there any more, or its file can have no more names
     * @throws dev.crab.runtime.error.CrabException DISK_FULL or IO_FAILED
     */
    @Nullable
    ObjectRef link(ObjectRef ref, String name);
}
