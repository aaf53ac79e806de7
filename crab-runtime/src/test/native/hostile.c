/* Tries, one per subcommand, what a sandbox must not be able to do. Prints "done" where it succeeded, else the errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODE "/tmp/node"

static long i386_call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
    return result;
}

/* The node by the 32-bit table: number 14, with the path where 32 bits reach. */
static int i386_node(mode_t mode, dev_t device) {
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    strcpy(low, NODE);
    long result = i386_call(14, (long)low, mode, (long)device);
    errno = result < 0 ? (int)-result : 0;
    return result < 0 ? -1 : 0;
}

static int i386_mount(void) {
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    strcpy(low, "proc");
    strcpy(low + 16, "/mnt");
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(21L), "b"(low), "c"(low + 16), "d"(low), "S"(0L), "D"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    errno = result < 0 ? (int)-result : 0;
    return result < 0 ? -1 : 0;
}

static int write_to(const char *path, const char *text) {
    int fd = open(path, O_WRONLY);
    return fd < 0 ? -1 : write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static int cloned(unsigned long flags) {
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        _exit(0);
    }
    if (pid > 0) {
        waitpid((pid_t)pid, NULL, 0);
    }
    return pid < 0 ? -1 : 0;
}

/* Asks pid 1 for a command, as the host does; it must hang up without an answer. */
static int ask_init(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/crab/exec.sock"};
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        return -1;
    }
    char ping[5] = {0, 0, 0, 0, 0x0a}, answer[64];
    send(fd, ping, sizeof ping, MSG_NOSIGNAL);
    if (recv(fd, answer, sizeof answer, 0) > 0) {
        return 0;
    }
    errno = ECONNRESET;
    return -1;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int result = -2;
    dev_t zero = makedev(1, 5), loop = makedev(7, 0);
#define TRY(name, call) \
    if (strcmp(what, name) == 0) { \
        result = (int)(call); \
    }
    TRY("mknod-char", mknod(NODE, S_IFCHR | 0600, zero))
    TRY("mknod-block", mknod(NODE, S_IFBLK | 0600, loop))
    TRY("mknodat-char", syscall(SYS_mknodat, AT_FDCWD, NODE, S_IFCHR | 0600, zero))
    TRY("mknodat-block", syscall(SYS_mknodat, AT_FDCWD, NODE, S_IFBLK | 0600, loop))
    TRY("mknod-i386", i386_node(S_IFBLK | 0600, loop))
    TRY("mknod-x32", syscall(0x40000000 | SYS_mknod, NODE, S_IFBLK | 0600, loop))
    TRY("mknod-fifo", mknod(NODE, S_IFIFO | 0600, 0))
    TRY("mount-proc", mount("proc", "/mnt", "proc", 0, NULL))
    TRY("mount-bind", mount("/etc", "/mnt", NULL, MS_BIND, NULL))
    TRY("mount-i386", i386_mount())
    TRY("mount-remount", mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL))
    TRY("umount", umount2("/proc/sys", MNT_DETACH))
    TRY("fsopen", syscall(SYS_fsopen, "tmpfs", 0))
    TRY("open-tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1))
    TRY("pivot-root", syscall(SYS_pivot_root, "/mnt", "/mnt"))
    TRY("sysctl", write_to("/proc/sys/vm/swappiness", "61"))
    TRY("sysrq", write_to("/proc/sysrq-trigger", "h"))
    TRY("core-pattern", write_to("/proc/sys/kernel/core_pattern", "|/tmp/x"))
    TRY("unshare-user", unshare(CLONE_NEWUSER))
    TRY("unshare-mount", unshare(CLONE_NEWNS))
    TRY("unshare-net", unshare(CLONE_NEWNET))
    TRY("clone-user", cloned(CLONE_NEWUSER))
    TRY("clone-mount", cloned(CLONE_NEWNS))
    TRY("clone-pid", cloned(CLONE_NEWPID))
    TRY("clone-net", cloned(CLONE_NEWNET))
    TRY("clone-plain", cloned(0))
    TRY("clone3", syscall(SYS_clone3, NULL, 0))
    TRY("setns", setns(open("/proc/self/ns/net", O_RDONLY), 0))
    TRY("io-uring", syscall(SYS_io_uring_setup, 8, NULL))
    TRY("userfaultfd", syscall(SYS_userfaultfd, 0))
    TRY("bpf", syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0))
    TRY("perf", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0))
    TRY("keyctl", syscall(SYS_keyctl, 0, -3, 1))
    TRY("module", syscall(SYS_init_module, NULL, 0, ""))
    TRY("kexec", syscall(SYS_kexec_load, 0, 0, NULL, 0))
    TRY("handle", syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0))
    TRY("sethostname", sethostname("x", 1))
    TRY("vsock", socket(40, SOCK_STREAM, 0))
    TRY("trace-init", ptrace(PTRACE_SEIZE, 1, NULL, NULL))
    TRY("init-memory", open("/proc/1/mem", O_RDWR))
    TRY("init-fds", open("/proc/1/fd/3", O_RDWR))
    TRY("kcore", open("/proc/kcore", O_RDONLY))
    TRY("ask-init", ask_init())
    if (result == -2) {
        printf("unknown %s\n", what);
        return 2;
    }
    printf("%s\n", result >= 0 ? "done" : strerrorname_np(errno));
    return 0;
}
