package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Memory;
import com.sun.jna.NativeLong;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

/** Network namespaces that a file names, with nothing in them but a loopback interface that is up. */
public final class NetNamespace {
    private static final int SIOCGIFFLAGS = 0x8913;
    private static final int SIOCSIFFLAGS = 0x8914;
    private static final int IFF_UP = 1;
    private static final int IFREQ_SIZE = 40;
    private static final int IFREQ_FLAGS = 16;
    private static final Path CHILD_TABLE = Path.of("/proc/sys/net/ipv4/tcp_child_ehash_entries");

    /** Buckets, which are no limit: a sandbox speaks to itself only. */
    private static final String TABLE_SIZE = "4096";

    private NetNamespace() {}

    /** Makes a namespace and binds it to the file, which must not exist. */
    public static void create(Path file) throws IOException {
        Files.createFile(file);
        boolean made = false;
        try {
            OwnThread.call("crab-netns", () -> {
                make(file);
                return file;
            });
            made = true;
        } finally {
            if (!made) {
                Files.deleteIfExists(file);
            }
        }
    }

    /**
     * Starts a program in the namespace that the file names.
     *
     * @param file made by {@link #create}
     * @param descriptors as for {@link ChildProcess#spawn}
     */
    public static ChildProcess spawn(
            Path file, List<String> argv, List<String> environment, Map<Integer, NativeFd> descriptors)
            throws IOException {
        return OwnThread.call("crab-netns-spawn", () -> {
            OwnThread.join(file, LibC.CLONE_NEWNET);
            return ChildProcess.spawn(argv, environment, descriptors);
        });
    }

    /** Gives the name up; the namespace goes when its last process does. Nothing there is success. */
    public static void delete(Path file) throws IOException {
        if (Files.exists(file)) {
            Mounts.unmount(file);
            Files.deleteIfExists(file);
        }
    }

    private static void make(Path file) throws IOException {
        try {
            LibC.C.unshare(LibC.CLONE_NEWNET);
            if (askForOwnTable()) {
                LibC.C.unshare(LibC.CLONE_NEWNET);
            }
            loopbackUp();
            Mounts.bind(Path.of("/proc/thread-self/ns/net"), file);
        } catch (LastErrorException e) {
            throw Errno.of("network namespace", e);
        }
    }

    /**
     * Asks, in the namespace that has just been made, for the next one to have a table of connections of its own (Linux 6.1,
     * ip-sysctl: {@code tcp_child_ehash_entries}). The host's, shared by default, is sized by its memory, and listing a namespace's
     * sockets walks all of it: CRIU does at every dump.
     */
    private static boolean askForOwnTable() {
        try {
            Files.writeString(CHILD_TABLE, TABLE_SIZE, StandardOpenOption.WRITE);
            return true;
        } catch (IOException e) {
            return false; // an older kernel, or a container whose /proc/sys is read-only: dumps take longer, that is
            // all
        }
    }

    /** Layout of {@code struct ifreq}: netdevice(7). */
    private static void loopbackUp() {
        try (NativeFd socket = new NativeFd(LibC.C.socket(LibC.AF_INET, LibC.SOCK_DGRAM | LibC.SOCK_CLOEXEC, 0));
                Memory request = new Memory(IFREQ_SIZE)) {
            request.clear();
            byte[] name = "lo".getBytes(StandardCharsets.US_ASCII);
            request.write(0, name, 0, name.length);
            LibC.C.ioctl(socket.number(), new NativeLong(SIOCGIFFLAGS), request);
            request.setShort(IFREQ_FLAGS, (short) (request.getShort(IFREQ_FLAGS) | IFF_UP));
            LibC.C.ioctl(socket.number(), new NativeLong(SIOCSIFFLAGS), request);
        }
    }
}
