package dev.crab.runtime.libbpf;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.ptr.IntByReference;
import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A BPF map, read and written from user space. Keys and values are buffers in the processor's byte order, as long as the map's entries.
 * Thread-safe: each operation is one system call and leaves nothing in between.
 */
@SuppressWarnings("ByteBufferBackingArray") // all buffers come from newKey and newValue, which allocate whole arrays
public final class BpfMap implements AutoCloseable {
    private static final int ENOENT = 2;
    private static final int ENOSPC = 28;
    private static final int BATCH = 512;

    private final LibBpf bpf;
    private final String name;
    private final int fd;
    private final int keySize;
    private final int valueSize;
    private final boolean owned;
    private boolean closed;

    BpfMap(LibBpf bpf, String name, int fd, int keySize, int valueSize, boolean owned) {
        this.bpf = bpf;
        this.name = name;
        this.fd = fd;
        this.keySize = keySize;
        this.valueSize = valueSize;
        this.owned = owned;
    }

    /** The map's descriptor, which is what a map of maps holds as value when it is written. */
    public int descriptor() {
        return fd;
    }

    /** An empty key of this map. */
    public ByteBuffer newKey() {
        return buffer(keySize);
    }

    /** An empty value of this map. */
    public ByteBuffer newValue() {
        return buffer(valueSize);
    }

    /** The value under that key, or null if there is none. */
    public @Nullable ByteBuffer get(ByteBuffer key) {
        ByteBuffer value = newValue();
        if (bpf.bpf_map_lookup_elem(fd, key.array(), value.array()) == 0) {
            return value;
        }
        int error = Native.getLastError();
        if (error == ENOENT) {
            return null;
        }
        throw failed("read", error);
    }

    /**
     * Sets the value under that key.
     *
     * @throws CrabException INTERNAL with "full" in its reason if the map has no room
     */
    public void put(ByteBuffer key, ByteBuffer value) {
        if (bpf.bpf_map_update_elem(fd, key.array(), value.array(), 0) != 0) {
            throw failed("written", Native.getLastError());
        }
    }

    /** Removes a key; does nothing if it is not there. */
    public void remove(ByteBuffer key) {
        if (bpf.bpf_map_delete_elem(fd, key.array()) != 0) {
            int error = Native.getLastError();
            if (error != ENOENT) {
                throw failed("cleared", error);
            }
        }
    }

    /** Gives every entry of a hash map to the visitor, in a few system calls. Entries made meanwhile may or may not be among them. */
    public void forEach(BiConsumer<ByteBuffer, ByteBuffer> visitor) {
        try (Memory keys = new Memory((long) BATCH * keySize);
                Memory values = new Memory((long) BATCH * valueSize);
                Memory position = new Memory(Math.max(8, keySize))) {
            boolean first = true;
            boolean more = true;
            int batch = BATCH;
            while (more) {
                IntByReference count = new IntByReference(batch);
                int result = bpf.bpf_map_lookup_batch(fd, first ? null : position, position, keys, values, count, null);
                int error = result == 0 ? 0 : Native.getLastError();
                if (error != 0 && error != ENOENT) {
                    throw failed("listed", error);
                }
                first = false;
                more = error == 0;
                for (int i = 0; i < count.getValue(); i++) {
                    ByteBuffer key = newKey();
                    keys.read((long) i * keySize, key.array(), 0, keySize);
                    ByteBuffer value = newValue();
                    values.read((long) i * valueSize, value.array(), 0, valueSize);
                    visitor.accept(key, value);
                }
            }
        }
    }

    /** Closes the descriptor of a map that was made by itself; maps of an object end with it. */
    @Override
    public synchronized void close() {
        if (owned && !closed) {
            closed = true;
            BpfLog.LibC.C.close(fd);
        }
    }

    private CrabException failed(String what, int error) {
        return CrabException.of(
                ErrorCode.INTERNAL,
                "BPF map " + name + " cannot be " + what,
                error == ENOSPC || error == 7 ? "it is full" : "errno " + error,
                "report it; turns are judged as FULL meanwhile");
    }

    private static ByteBuffer buffer(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
    }
}
