package dev.crab.runtime.os;

import com.sun.jna.LastErrorException;
import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLong;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;

/**
 * The functions of glibc that Crab needs and Java does not have. Package-private: the classes beside it give them meaning.
 *
 * <p>Functions that declare {@link LastErrorException} throw it with errno where C returns -1. Constants are those of Linux on x86-64
 * (asm-generic headers).
 */
interface LibC extends Library {
    LibC C = Native.load("c", LibC.class);

    int O_RDONLY = 0;
    int O_RDWR = 2;
    int O_DIRECTORY = 0200000;
    int O_NOFOLLOW = 0400000;
    int O_CLOEXEC = 02000000;
    int O_PATH = 010000000;
    int AT_FDCWD = -100;

    long SYS_PIDFD_OPEN = 434;
    long SYS_OPENAT2 = 437;
    long SYS_PIDFD_GETFD = 438;
    long FIONREAD = 0x541b;
    long SIOCUNIXFILE = 0x89e0;
    int RESOLVE_NO_MAGICLINKS = 0x02;
    int RESOLVE_NO_SYMLINKS = 0x04;
    int RESOLVE_IN_ROOT = 0x10;

    int AF_UNIX = 1;
    int AF_INET = 2;
    int AF_INET6 = 10;
    int IPPROTO_TCP = 6;
    int SOCK_STREAM = 1;
    int SOCK_DGRAM = 2;
    int SOCK_SEQPACKET = 5;
    int SOCK_CLOEXEC = 02000000;
    int SOL_SOCKET = 1;
    int SO_PEERCRED = 17;
    int SO_ACCEPTCONN = 30;
    int SO_PROTOCOL = 38;
    int SO_DOMAIN = 39;
    int SHUT_WR = 1;
    int MSG_NOSIGNAL = 0x4000;
    int MSG_DONTWAIT = 0x40;
    int POLLIN = 1;
    int POLLOUT = 4;

    int CLONE_NEWUTS = 0x04000000;
    int CLONE_NEWIPC = 0x08000000;
    int CLONE_NEWNET = 0x40000000;
    int MS_RDONLY = 1;
    int MS_NOSUID = 2;
    int MS_NODEV = 4;
    int MS_NOEXEC = 8;
    int MS_REMOUNT = 32;
    int MS_NOATIME = 1024;
    int MS_BIND = 4096;
    int MS_REC = 16384;
    int MS_PRIVATE = 1 << 18;
    int MNT_DETACH = 2;

    int SIGHUP = 1;
    int SIGKILL = 9;
    int WNOHANG = 1;

    int ENOENT = 2;
    int ESRCH = 3;
    int EINTR = 4;
    int ECHILD = 10;
    int EAGAIN = 11;
    int EBUSY = 16;
    int EINVAL = 22;
    int ECONNRESET = 104;

    int open(String path, int flags, int mode) throws LastErrorException;

    int openat(int directory, String path, int flags, int mode) throws LastErrorException;

    NativeLong syscall(NativeLong number, Object... arguments) throws LastErrorException;

    int close(int fd) throws LastErrorException;

    NativeLong read(int fd, Pointer buffer, NativeLong size) throws LastErrorException;

    NativeLong write(int fd, Pointer buffer, NativeLong size) throws LastErrorException;

    int ioctl(int fd, NativeLong request, Pointer argument) throws LastErrorException;

    int ioctl(int fd, NativeLong request, NativeLong argument) throws LastErrorException;

    int fcntl(int fd, int command, NativeLong argument) throws LastErrorException;

    int fsync(int fd) throws LastErrorException;

    int syncfs(int fd) throws LastErrorException;

    int mount(String source, String target, String type, NativeLong flags, String data) throws LastErrorException;

    int umount2(String target, int flags) throws LastErrorException;

    int setns(int fd, int type) throws LastErrorException;

    int unshare(int flags) throws LastErrorException;

    int sethostname(byte[] name, NativeLong length) throws LastErrorException;

    int socket(int domain, int type, int protocol) throws LastErrorException;

    int socketpair(int domain, int type, int protocol, int[] pair) throws LastErrorException;

    int connect(int fd, Pointer address, int length) throws LastErrorException;

    int getsockopt(int fd, int level, int option, Pointer value, IntByReference length) throws LastErrorException;

    int getsockname(int fd, Pointer address, IntByReference length) throws LastErrorException;

    NativeLong send(int fd, Pointer buffer, NativeLong size, int flags) throws LastErrorException;

    NativeLong recv(int fd, Pointer buffer, NativeLong size, int flags) throws LastErrorException;

    int shutdown(int fd, int how) throws LastErrorException;

    int poll(Pointer fds, NativeLong count, int timeoutMillis) throws LastErrorException;

    int setpriority(int which, int who, int priority) throws LastErrorException;

    int kill(int pid, int signal) throws LastErrorException;

    int waitpid(int pid, IntByReference status, int options) throws LastErrorException;

    int geteuid();

    int lsetxattr(String path, String name, byte[] value, NativeLong size, int flags) throws LastErrorException;

    NativeLong lgetxattr(String path, String name, Pointer value, NativeLong size) throws LastErrorException;

    NativeLong llistxattr(String path, Pointer list, NativeLong size) throws LastErrorException;

    // posix_spawn and its helpers return the error number instead of setting errno.

    int posix_spawn(
            IntByReference pid,
            String path,
            Pointer fileActions,
            Pointer attributes,
            String[] argv,
            String[] environment);

    int posix_spawn_file_actions_init(Pointer actions);

    int posix_spawn_file_actions_destroy(Pointer actions);

    int posix_spawn_file_actions_adddup2(Pointer actions, int from, int to);

    int posix_spawn_file_actions_addopen(Pointer actions, int fd, String path, int flags, int mode);

    int posix_spawn_file_actions_addclosefrom_np(Pointer actions, int from);

    int posix_spawnattr_init(Pointer attributes);

    int posix_spawnattr_destroy(Pointer attributes);

    int posix_spawnattr_setflags(Pointer attributes, short flags);

    /** Flag of posix_spawn: the child begins a session of its own (glibc 2.26). */
    short POSIX_SPAWN_SETSID = 0x80;

    /** Bytes that hold a {@code posix_spawnattr_t} with room to spare (glibc: 336). */
    static Memory spawnAttributes() {
        return new Memory(1024);
    }

    /** Bytes that hold a {@code posix_spawn_file_actions_t} with room to spare (glibc: 80). */
    static Memory fileActions() {
        return new Memory(256);
    }
}
