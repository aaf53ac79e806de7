// SPDX-License-Identifier: Apache-2.0
// Preloaded into a JVM: counts what it does to the store's files, and at the n-th operation cuts the power or lets it fail. Also moves
// the clock of the day. Paths below <root>/sessions and <root>/objects count, nothing else does.
#include "shim.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) \
    static __typeof__(&name) real; \
    if (real == NULL) { \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[4096];
static size_t root_length;
static bool power, from_then_on, lies;
static int error; // what operations fail with; 0: none does
static int64_t at;
static enum keep keep;
static int log_fd = -1;
static struct control none, *control = &none;

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

__attribute__((constructor)) static void start(void) {
    unsetenv("LD_PRELOAD"); // children are programs that have nothing to do with the store
    snprintf(root, sizeof root, "%s", setting("CRAB_SHIM_ROOT"));
    root_length = strlen(root);
    const char *mode = setting("CRAB_SHIM_MODE");
    power = strcmp(mode, "power") == 0;
    error = strcmp(mode, "eio") == 0 ? EIO : strcmp(mode, "enospc") == 0 ? ENOSPC : 0;
    from_then_on = strcmp(setting("CRAB_SHIM_SPAN"), "on") == 0;
    lies = setting("CRAB_SHIM_LIES")[0] != 0; // a disk that says flushed and is not: what must be found out
    at = atoll(setting("CRAB_SHIM_AT"));
    const char *kept = setting("CRAB_SHIM_KEEP");
    keep = strcmp(kept, "some") == 0 ? KEEP_SOME : strcmp(kept, "torn") == 0 ? KEEP_TORN : KEEP_NOTHING;
    undo_init(setting("CRAB_SHIM_STASH"), (unsigned)atoi(setting("CRAB_SHIM_SEED")));
    if (setting("CRAB_SHIM_LOG")[0] != 0) {
        log_fd = open(setting("CRAB_SHIM_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    int fd = open(setting("CRAB_SHIM_CONTROL"), O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        control = mapped == MAP_FAILED ? &none : mapped;
        close(fd);
    }
}

static bool counts(const char *path) {
    if (root_length == 0 || strncmp(path, root, root_length) != 0) {
        return false;
    }
    const char *rest = path + root_length;
    return strncmp(rest, "/sessions", 9) == 0 || strncmp(rest, "/objects", 8) == 0;
}

static bool path_of(int fd, char *out, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = root_length == 0 ? -1 : readlink(link, out, size - 1);
    out[length < 0 ? 0 : length] = 0;
    return length > 0 && counts(out);
}

static bool path_at(int directory, const char *path, char *out, size_t size) {
    if (root_length == 0) {
        return false;
    }
    if (path[0] == '/' || directory == AT_FDCWD) {
        snprintf(out, size, "%s", path);
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        ssize_t length = readlink(link, out, size - 1);
        if (length < 0) {
            return false;
        }
        snprintf(out + length, size - (size_t)length, "/%s", path);
    }
    return counts(out);
}

static bool may_fail(enum op op) {
    return op != OP_UNLINK && op != OP_TRUNCATE;
}

// Counts an operation. Gives whether it may be carried out, else with errno set. The lock is held from here to leave().
static bool enter(enum op op, const char *path) {
    pthread_mutex_lock(&lock);
    int64_t number = ++control->operations;
    if (log_fd >= 0) {
        dprintf(log_fd, "%lld %c %s\n", (long long)number, op, path + root_length);
    }
    if (power && number == at) {
        undo_and_die(keep);
    }
    bool hit = from_then_on ? number >= at : number == at;
    if (error != 0 && at > 0 && hit && !control->disarmed && may_fail(op)) {
        pthread_mutex_unlock(&lock);
        errno = error;
        return false;
    }
    return true;
}

static void leave(void) {
    int saved = errno;
    pthread_mutex_unlock(&lock);
    errno = saved;
}

static int open_counted(int directory, const char *path, int flags, mode_t mode) {
    REAL(openat)
    char full[4200];
    if ((flags & (O_CREAT | O_TRUNC)) == 0 || !path_at(directory, path, full, sizeof full)) {
        return real(directory, path, flags, mode);
    }
    struct stat before;
    bool existed = lstat(full, &before) == 0;
    if (existed && ((flags & O_TRUNC) == 0 || before.st_size == 0)) {
        return real(directory, path, flags, mode);
    }
    if (!enter(existed ? OP_TRUNCATE : OP_CREATE, full)) {
        return -1;
    }
    int fd = real(directory, path, flags & ~O_TRUNC, mode);
    if (fd >= 0 && !existed && power) {
        undo_named(full, false);
    }
    if (fd >= 0 && existed) {
        if (power) {
            undo_will_truncate(fd, 0);
        }
        REAL(ftruncate)
        real(fd, 0);
    }
    leave();
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list list; \
        va_start(list, flags); \
        mode = va_arg(list, mode_t); \
        va_end(list); \
    }

EXPORT int open(const char *path, int flags, ...) {
    MODE(flags)
    return open_counted(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) {
    MODE(flags)
    return open_counted(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int directory, const char *path, int flags, ...);
EXPORT int openat64(int directory, const char *path, int flags, ...) {
    MODE(flags)
    return open_counted(directory, path, flags, mode);
}

EXPORT int openat(int directory, const char *path, int flags, ...) {
    MODE(flags)
    return open_counted(directory, path, flags, mode);
}

EXPORT int creat(const char *path, mode_t mode) {
    return open_counted(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

// Only regular files of the store: a directory is never written, and what is no file has no path that counts.
static bool enter_write(int fd, off_t where, size_t length, bool *counted) {
    char path[4200];
    *counted = path_of(fd, path, sizeof path);
    if (!*counted) {
        return true;
    }
    if (!enter(OP_WRITE, path)) {
        return false;
    }
    if (power) {
        undo_will_write(fd, where, length);
    }
    return true;
}

static ssize_t leave_write(int fd, off_t where, const void *bytes, ssize_t written) {
    if (power) {
        undo_wrote(fd, where, bytes, written > 0 ? (size_t)written : 0);
    }
    leave();
    return written;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(write)
    bool counted = false;
    off_t where = root_length == 0 ? 0 : lseek(fd, 0, SEEK_CUR);
    if (root_length != 0 && where >= 0 && (fcntl(fd, F_GETFL) & O_APPEND)) {
        struct stat status;
        where = fstat(fd, &status) == 0 ? status.st_size : where;
    }
    if (where < 0) {
        return real(fd, bytes, length); // a pipe, a socket
    }
    if (!enter_write(fd, where, length, &counted)) {
        return -1;
    }
    ssize_t written = real(fd, bytes, length);
    return counted ? leave_write(fd, where, bytes, written) : written;
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t where) {
    REAL(pwrite64)
    bool counted = false;
    if (!enter_write(fd, where, length, &counted)) {
        return -1;
    }
    ssize_t written = real(fd, bytes, length, where);
    return counted ? leave_write(fd, where, bytes, written) : written;
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t length, off_t where) {
    return pwrite64(fd, bytes, length, where);
}

// Gathering writes are carried out as plain ones: fewer bytes may be written than were given.
EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev)
    char path[4200];
    return count > 0 && path_of(fd, path, sizeof path) ? write(fd, parts[0].iov_base, parts[0].iov_len) : real(fd, parts, count);
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t where) {
    REAL(pwritev64)
    char path[4200];
    return count > 0 && path_of(fd, path, sizeof path) ? pwrite64(fd, parts[0].iov_base, parts[0].iov_len, where)
                                                       : real(fd, parts, count, where);
}

EXPORT int ftruncate64(int fd, off_t length) {
    REAL(ftruncate64)
    char path[4200];
    if (!path_of(fd, path, sizeof path)) {
        return real(fd, length);
    }
    if (!enter(OP_TRUNCATE, path)) {
        return -1;
    }
    if (power) {
        undo_will_truncate(fd, length);
    }
    int result = real(fd, length);
    leave();
    return result;
}

EXPORT int ftruncate(int fd, off_t length) {
    return ftruncate64(fd, length);
}

// The directory that holds the two is not theirs, but its flush makes their names durable.
static int sync_counted(int fd, int (*flush)(int)) {
    char path[4200];
    if (!path_of(fd, path, sizeof path) && (root_length == 0 || strcmp(path, root) != 0)) {
        return flush(fd);
    }
    if (!enter(OP_SYNC, path)) {
        return -1;
    }
    int result = flush(fd);
    if (result == 0 && power && !lies) {
        undo_flushed(fd, path);
    }
    leave();
    return result;
}

EXPORT int fsync(int fd) {
    REAL(fsync)
    return sync_counted(fd, real);
}

EXPORT int fdatasync(int fd) {
    REAL(fdatasync)
    return sync_counted(fd, real);
}

EXPORT int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    REAL(renameat2)
    char full_from[4200], full_to[4200];
    if (!path_at(from_directory, from, full_from, sizeof full_from) || !path_at(to_directory, to, full_to, sizeof full_to)) {
        return real(from_directory, from, to_directory, to, flags);
    }
    if (!enter(OP_RENAME, full_to)) {
        return -1;
    }
    if (power) {
        undo_will_remove(full_to);
    }
    int result = real(from_directory, from, to_directory, to, flags);
    if (result == 0 && power) {
        undo_renamed(full_from, full_to);
    }
    leave();
    return result;
}

EXPORT int renameat(int from_directory, const char *from, int to_directory, const char *to) {
    return renameat2(from_directory, from, to_directory, to, 0);
}

EXPORT int rename(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
    REAL(linkat)
    char full[4200];
    if (!path_at(to_directory, to, full, sizeof full)) {
        return real(from_directory, from, to_directory, to, flags);
    }
    if (!enter(OP_LINK, full)) {
        return -1;
    }
    int result = real(from_directory, from, to_directory, to, flags);
    if (result == 0 && power) {
        undo_named(full, false);
    }
    leave();
    return result;
}

EXPORT int link(const char *from, const char *to) {
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int unlinkat(int directory, const char *path, int flags) {
    REAL(unlinkat)
    char full[4200];
    struct stat status;
    if ((flags & AT_REMOVEDIR) != 0 || !path_at(directory, path, full, sizeof full) || lstat(full, &status) != 0) {
        return real(directory, path, flags);
    }
    if (!enter(OP_UNLINK, full)) {
        return -1;
    }
    if (power) {
        undo_will_remove(full);
    }
    int result = real(directory, path, flags);
    if (result == 0 && power) {
        undo_unlinked(full);
    }
    leave();
    return result;
}

EXPORT int unlink(const char *path) {
    return unlinkat(AT_FDCWD, path, 0);
}

EXPORT int remove(const char *path) {
    struct stat status;
    return unlinkat(AT_FDCWD, path, lstat(path, &status) == 0 && S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0);
}

EXPORT int mkdir(const char *path, mode_t mode) {
    REAL(mkdir)
    char full[4200];
    struct stat status;
    if (!path_at(AT_FDCWD, path, full, sizeof full) || lstat(full, &status) == 0) {
        return real(path, mode);
    }
    if (!enter(OP_MKDIR, full)) {
        return -1;
    }
    int result = real(path, mode);
    if (result == 0 && power) {
        undo_named(full, true);
    }
    leave();
    return result;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime)
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += control->clock_seconds;
    }
    return result;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(gettimeofday)
    int result = real(now, zone);
    now->tv_sec += control->clock_seconds;
    return result;
}

EXPORT time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where != NULL) {
        *where = now.tv_sec;
    }
    return now.tv_sec;
}
