package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.NativeLong;
import com.sun.jna.ptr.IntByReference;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Another process, to look at what it holds open: pidfd_open(2), pidfd_getfd(2), Linux 5.6. Not thread-safe.
 *
 * <p>A socket tells by itself what it is bound to. The tables in {@code /proc/PID/net} would have to be read whole, which takes as long
 * as the host's hash tables are large, and hold lines that a process has chosen.
 */
public final class PeerProcess implements AutoCloseable {
    /** A listening socket: protocol, address in hexadecimal digits as in proc_net_tcp or a unix socket's name, and port. */
    public record Listener(String protocol, String address, int port) {}

    private static final int ADDRESS = 128;
    private static final int PORT_AT = 2;

    private final NativeFd pidfd;

    private PeerProcess(NativeFd pidfd) {
        this.pidfd = pidfd;
    }

    /** Opens a process by its host pid. */
    public static PeerProcess open(int pid) throws IOException {
        try {
            return new PeerProcess(new NativeFd(
                    LibC.C.syscall(new NativeLong(LibC.SYS_PIDFD_OPEN), pid, 0).intValue()));
        } catch (LastErrorException e) {
            throw Errno.of("pidfd_open", e);
        }
    }

    /** What the socket behind one of its descriptors listens on; empty if it does not listen. */
    public Optional<Listener> listener(int descriptor) throws IOException {
        try (NativeFd socket = new NativeFd(LibC.C
                        .syscall(new NativeLong(LibC.SYS_PIDFD_GETFD), pidfd.number(), descriptor, 0)
                        .intValue());
                Memory address = new Memory(ADDRESS)) {
            if (option(socket, LibC.SO_ACCEPTCONN) == 0) {
                return Optional.empty();
            }
            address.clear();
            IntByReference length = new IntByReference(ADDRESS);
            LibC.C.getsockname(socket.number(), address, length);
            int domain = option(socket, LibC.SO_DOMAIN);
            return Optional.of(
                    switch (domain) {
                        case LibC.AF_INET -> new Listener(inet(socket, "tcp"), words(address, 4, 1), port(address));
                        case LibC.AF_INET6 -> new Listener(inet(socket, "tcp6"), words(address, 8, 4), port(address));
                        case LibC.AF_UNIX -> new Listener("unix", name(address, length.getValue()), 0);
                        default -> new Listener("family-" + domain, "-", 0);
                    });
        } catch (LastErrorException e) {
            throw Errno.of("descriptor " + descriptor + " of another process", e);
        }
    }

    /**
     * The file that a unix socket was bound to, whatever it is called now.
     *
     * @param links how many names it has
     */
    public record BoundFile(long device, long inode, int links) {
        /** What a descriptor of this process's leads to. */
        public static BoundFile of(NativeFd file) throws IOException {
            Path path = file.path();
            return new BoundFile(
                    (long) Files.getAttribute(path, "unix:dev"), (long) Files.getAttribute(path, "unix:ino"), (int)
                            Files.getAttribute(path, "unix:nlink"));
        }

        public boolean isSameAs(BoundFile other) {
            return device == other.device && inode == other.inode;
        }
    }

    /** The file of the unix socket behind one of its descriptors (SIOCUNIXFILE, Linux 4.15); empty if it has none. */
    public Optional<BoundFile> boundFile(int descriptor) throws IOException {
        try (NativeFd socket = new NativeFd(LibC.C
                .syscall(new NativeLong(LibC.SYS_PIDFD_GETFD), pidfd.number(), descriptor, 0)
                .intValue())) {
            int file = LibC.C.ioctl(socket.number(), new NativeLong(LibC.SIOCUNIXFILE), new NativeLong(0));
            try (NativeFd opened = new NativeFd(file)) {
                return Optional.of(BoundFile.of(opened));
            }
        } catch (LastErrorException e) {
            if (e.getErrorCode() == LibC.ENOENT) {
                return Optional.empty();
            }
            throw Errno.of("descriptor " + descriptor + " of another process", e);
        }
    }

    /** Bytes that wait to be read from one of its descriptors; none where nothing can be read, as from a listening socket. */
    public int queued(int descriptor) throws IOException {
        try (NativeFd copy = new NativeFd(LibC.C
                        .syscall(new NativeLong(LibC.SYS_PIDFD_GETFD), pidfd.number(), descriptor, 0)
                        .intValue());
                Memory count = new Memory(4)) {
            LibC.C.ioctl(copy.number(), new NativeLong(LibC.FIONREAD), count);
            return count.getInt(0);
        } catch (LastErrorException e) {
            if (e.getErrorCode() == LibC.EINVAL) {
                return 0;
            }
            throw Errno.of("descriptor " + descriptor + " of another process", e);
        }
    }

    private static String inet(NativeFd socket, String tcp) {
        int protocol = option(socket, LibC.SO_PROTOCOL);
        return protocol == LibC.IPPROTO_TCP ? tcp : tcp + "-" + protocol;
    }

    private static int option(NativeFd socket, int option) {
        try (Memory value = new Memory(4)) {
            LibC.C.getsockopt(socket.number(), LibC.SOL_SOCKET, option, value, new IntByReference(4));
            return value.getInt(0);
        }
    }

    private static int port(Memory address) {
        return ((address.getByte(PORT_AT) & 0xff) << 8) | (address.getByte(PORT_AT + 1) & 0xff);
    }

    /** Each 32 bits of the address as a number of this machine. */
    private static String words(Memory address, int from, int count) {
        StringBuilder words = new StringBuilder();
        for (int i = 0; i < count; i++) {
            words.append(String.format("%08X", address.getInt(from + 4L * i)));
        }
        return words.toString();
    }

    /** The name of a unix socket; an abstract one begins with an at sign, which also stands for NUL; a nameless one is a dash. */
    private static String name(Memory address, int length) {
        int size = Math.min(length, ADDRESS) - 2;
        if (size <= 0) {
            return "-";
        }
        byte[] bytes = address.getByteArray(2, size);
        // A path ends with a NUL that belongs to its length; an abstract name has none.
        int end = bytes[0] != 0 && bytes[size - 1] == 0 ? size - 1 : size;
        return new String(bytes, 0, end, StandardCharsets.ISO_8859_1).replace('\0', '@');
    }

    @Override
    public void close() {
        pidfd.close();
    }
}
