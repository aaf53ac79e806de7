package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.NativeLong;
import com.sun.jna.ptr.IntByReference;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The client's end of a connected {@code SOCK_STREAM} unix socket. Not thread-safe.
 *
 * <p>The address is a descriptor of the socket's inode, not a path: whoever opened it decided which links were followed, and nothing can
 * be put in its place between that and the connect.
 */
public final class UnixStream implements AutoCloseable {
    private static final int BUFFER = 64 << 10;
    private static final int ADDRESS = 110;

    private final NativeFd fd;
    private final Memory buffer = new Memory(BUFFER);
    private final Memory pollFd = new Memory(8);

    private UnixStream(NativeFd fd) {
        this.fd = fd;
    }

    /** Connects to the socket that the {@code O_PATH} descriptor names. */
    public static UnixStream connect(NativeFd socket) throws IOException {
        try (Memory address = new Memory(ADDRESS)) {
            address.clear();
            address.setShort(0, (short) LibC.AF_UNIX);
            byte[] path = ("/proc/self/fd/" + socket.number()).getBytes(StandardCharsets.US_ASCII);
            address.write(2, path, 0, path.length);
            NativeFd fd = new NativeFd(LibC.C.socket(LibC.AF_UNIX, LibC.SOCK_STREAM | LibC.SOCK_CLOEXEC, 0));
            try {
                LibC.C.connect(fd.number(), address, 2 + path.length + 1);
            } catch (LastErrorException e) {
                fd.close();
                throw Errno.of("connect", e);
            }
            return new UnixStream(fd);
        } catch (LastErrorException e) {
            throw Errno.of("socket", e);
        }
    }

    /** Process id, in this process's namespace, of whoever called listen on the other end; 0 if it cannot be seen from here. */
    public int peerPid() throws IOException {
        try (Memory credentials = new Memory(12)) {
            LibC.C.getsockopt(fd.number(), LibC.SOL_SOCKET, LibC.SO_PEERCRED, credentials, new IntByReference(12));
            return credentials.getInt(0);
        } catch (LastErrorException e) {
            throw Errno.of("getsockopt SO_PEERCRED", e);
        }
    }

    /**
     * Waits until there is something to read (the end counts) or until room to write.
     *
     * @return whether it came within the time
     */
    public boolean await(boolean toWrite, int millis) throws IOException {
        pollFd.setInt(0, fd.number());
        pollFd.setInt(4, toWrite ? LibC.POLLOUT : LibC.POLLIN);
        try {
            return LibC.C.poll(pollFd, new NativeLong(1), millis) > 0;
        } catch (LastErrorException e) {
            if (e.getErrorCode() == LibC.EINTR) {
                return false;
            }
            throw Errno.of("poll", e);
        }
    }

    /**
     * Reads what is there without waiting.
     *
     * @return the bytes; empty if nothing is there yet; null at the end of the stream
     */
    public byte @org.jspecify.annotations.Nullable [] read() throws IOException {
        try {
            int got = LibC.C
                    .recv(fd.number(), buffer, new NativeLong(BUFFER), LibC.MSG_DONTWAIT)
                    .intValue();
            return got == 0 ? null : buffer.getByteArray(0, got);
        } catch (LastErrorException e) {
            if (e.getErrorCode() == LibC.EAGAIN || e.getErrorCode() == LibC.EINTR) {
                return new byte[0];
            }
            if (e.getErrorCode() == LibC.ECONNRESET) {
                return null; // the peer closed without reading all: an end like any other
            }
            throw Errno.of("recv", e);
        }
    }

    /** Writes without waiting; returns how many bytes went, possibly 0. */
    public int write(byte[] bytes, int from) throws IOException {
        int size = Math.min(bytes.length - from, BUFFER);
        buffer.write(0, bytes, from, size);
        try {
            return LibC.C
                    .send(fd.number(), buffer, new NativeLong(size), LibC.MSG_DONTWAIT | LibC.MSG_NOSIGNAL)
                    .intValue();
        } catch (LastErrorException e) {
            if (e.getErrorCode() == LibC.EAGAIN || e.getErrorCode() == LibC.EINTR) {
                return 0;
            }
            throw Errno.of("send", e);
        }
    }

    @Override
    public void close() {
        fd.close();
        for (Memory memory : Arrays.asList(buffer, pollFd)) {
            memory.close();
        }
    }
}
