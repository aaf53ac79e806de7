package dev.crab.runtime.store;

/** Parts of one object. Not thread-safe. Unlike {@link ObjectStore#open}, nothing that it gives is checked but that it is there. */
public interface ObjectReader extends AutoCloseable {
    /**
     * Reads exactly that part.
     *
     * @throws dev.crab.runtime.error.CrabException OBJECT_CORRUPT if the object does not have it, IO_FAILED
     */
    byte[] read(long offset, int length);

    @Override
    void close();
}
