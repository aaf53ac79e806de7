// SPDX-License-Identifier: Apache-2.0
// What a disk would not have yet: written ranges of files until their fsync, names until their directory's fsync.
#include "shim.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct range {
    struct range *next;
    off_t at, size_before, size_after;
    size_t length, old_length;
    char *old, *new; // new is null where the file was cut
};

// Its second descriptor stays open for ever: closing one of a locked file would drop the lock.
struct file {
    struct file *next;
    dev_t device;
    ino_t inode;
    int fd;
    struct range *ranges, **end;
    struct range *pending;
};

// One name that an operation changed, from one inode to another; 0 is none. Two of them with one number happen together.
struct name {
    struct name *next;
    unsigned operation;
    char *path;
    ino_t before, after;
    bool directory;
};

static struct file *files;
static struct name *names, **names_end = &names;
static unsigned operations;
static char stash_directory[4096];
static uint64_t random_state;
static ino_t removing; // what undo_will_remove saw

static uint64_t random_below(uint64_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return bound == 0 ? 0 : random_state % bound;
}

static void fail(const char *what) {
    dprintf(2, "crab-shim: %s failed: %m\n", what);
    _exit(99);
}

void undo_init(const char *stash, unsigned seed) {
    snprintf(stash_directory, sizeof stash_directory, "%s", stash);
    random_state = 0x9e3779b97f4a7c15u * (seed + 1u);
}

static void stash_path(char *out, size_t size, ino_t inode) {
    snprintf(out, size, "%s/%lu", stash_directory, (unsigned long)inode);
}

static ino_t inode_of(const char *path, bool *directory) {
    struct stat status;
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    *directory = S_ISDIR(status.st_mode);
    return status.st_ino;
}

// A second name for a file, so that it can be brought back under its first.
static ino_t stash(const char *path) {
    bool directory = false;
    ino_t inode = inode_of(path, &directory);
    if (inode != 0 && !directory) {
        char second[4200];
        stash_path(second, sizeof second, inode);
        syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, second, 0); // there already: as good
    }
    return inode;
}

static void add_name(unsigned operation, const char *path, ino_t before, ino_t after, bool directory) {
    struct name *name = calloc(1, sizeof *name);
    *name = (struct name){NULL, operation, strdup(path), before, after, directory};
    *names_end = name;
    names_end = &name->next;
}

void undo_will_remove(const char *path) {
    removing = stash(path);
}

void undo_named(const char *path, bool directory) {
    add_name(++operations, path, 0, stash(path), directory);
}

void undo_unlinked(const char *path) {
    add_name(++operations, path, removing, 0, false);
}

void undo_renamed(const char *from, const char *to) {
    ino_t moved = stash(to);
    operations++;
    add_name(operations, from, moved, 0, false);
    add_name(operations, to, removing, moved, false);
}

static struct file *file_of(int fd) {
    struct stat status;
    if (fstat(fd, &status) != 0) {
        fail("fstat");
    }
    for (struct file *file = files; file != NULL; file = file->next) {
        if (file->device == status.st_dev && file->inode == status.st_ino) {
            return file;
        }
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct file *file = calloc(1, sizeof *file);
    file->fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (file->fd < 0) {
        fail("open");
    }
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->end = &file->ranges;
    file->next = files;
    files = file;
    return file;
}

// By their numbers: the library's own names lead back into the shim.
static ssize_t raw_pwrite(int fd, const char *bytes, size_t length, off_t at) {
    return syscall(SYS_pwrite64, fd, bytes, length, at);
}

static int raw_truncate(int fd, off_t length) {
    return (int)syscall(SYS_ftruncate, fd, length);
}

static off_t size_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_size : 0;
}

static struct range *keep_old(struct file *file, off_t at, off_t end) {
    struct range *range = calloc(1, sizeof *range);
    range->at = at;
    range->size_before = size_of(file->fd);
    off_t old_end = end < range->size_before ? end : range->size_before;
    range->old_length = old_end > at ? (size_t)(old_end - at) : 0;
    range->old = malloc(range->old_length + 1);
    if (pread(file->fd, range->old, range->old_length, at) != (ssize_t)range->old_length) {
        fail("pread");
    }
    return range;
}

static void append(struct file *file, struct range *range) {
    *file->end = range;
    file->end = &range->next;
}

void undo_will_write(int fd, off_t at, size_t length) {
    struct file *file = file_of(fd);
    file->pending = keep_old(file, at, at + (off_t)length);
}

void undo_wrote(int fd, off_t at, const void *bytes, size_t length) {
    struct file *file = file_of(fd);
    struct range *range = file->pending;
    file->pending = NULL;
    range->length = length;
    range->new = malloc(length + 1);
    memcpy(range->new, bytes, length);
    off_t end = at + (off_t)length;
    range->size_after = end > range->size_before ? end : range->size_before;
    append(file, range);
}

void undo_will_truncate(int fd, off_t length) {
    struct file *file = file_of(fd);
    struct range *range = keep_old(file, length, size_of(fd));
    range->size_after = length;
    append(file, range);
}

static bool is_in(const char *path, const char *directory) {
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && path[length] == '/' && strchr(path + length + 1, '/') == NULL;
}

static void forget_names_in(const char *directory) {
    struct name **at = &names;
    while (*at != NULL) {
        struct name *name = *at;
        if (is_in(name->path, directory)) {
            *at = name->next;
            free(name->path);
            free(name);
        } else {
            at = &name->next;
        }
    }
    names_end = at;
}

void undo_flushed(int fd, const char *path) {
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        forget_names_in(path);
        return;
    }
    struct file *file = file_of(fd);
    while (file->ranges != NULL) {
        struct range *range = file->ranges;
        file->ranges = range->next;
        free(range->old);
        free(range->new);
        free(range);
    }
    file->end = &file->ranges;
}

// A write that lies in one sector of what the file had already is on the disk as a whole or not at all.
static size_t torn_length(const struct range *range) {
    off_t last = range->at + (off_t)range->length - 1;
    bool one_sector = range->length <= range->old_length && range->at / 512 == last / 512;
    return one_sector ? 0 : random_below(range->length);
}

static void take_back(struct file *file, struct range *range) {
    if (range == NULL) {
        return;
    }
    take_back(file, range->next);
    if (raw_pwrite(file->fd, range->old, range->old_length, range->at) != (ssize_t)range->old_length ||
        raw_truncate(file->fd, range->size_before) != 0) {
        fail("taking back");
    }
}

static void settle_file(struct file *file, enum keep keep, const struct range *torn) {
    take_back(file, file->ranges);
    for (struct range *range = file->ranges; range != NULL && keep != KEEP_NOTHING; range = range->next) {
        if (keep == KEEP_SOME && random_below(2) == 0) {
            continue;
        }
        size_t length = range == torn ? torn_length(range) : range->length;
        bool done = range->new != NULL ? raw_pwrite(file->fd, range->new, length, range->at) == (ssize_t)length
                                       : raw_truncate(file->fd, range->size_after) == 0;
        if (!done) {
            fail("keeping");
        }
    }
}

static void settle_name(const char *path, ino_t wanted, bool directory) {
    bool is_directory = false;
    ino_t found = inode_of(path, &is_directory);
    if (found == wanted) {
        return;
    }
    char second[4200];
    if (found != 0 && (directory || is_directory)) {
        stash_path(second, sizeof second, found);
        if (syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, second, 0) != 0) {
            fail("taking back a directory");
        }
    } else if (found != 0 && syscall(SYS_unlinkat, AT_FDCWD, path, 0) != 0) {
        fail("taking back a name");
    }
    if (wanted != 0 && !directory) {
        stash_path(second, sizeof second, wanted);
        if (syscall(SYS_linkat, AT_FDCWD, second, AT_FDCWD, path, 0) != 0) {
            fail("bringing back a name");
        }
    }
}

// Turns each operation's wish into the names' last state: first what was, then what the kept ones made of it.
static void settle_names(enum keep keep) {
    if (keep == KEEP_TORN) {
        return; // all names are kept
    }
    bool *kept = calloc(operations + 2, sizeof *kept);
    for (unsigned i = 0; i <= operations; i++) {
        kept[i] = keep == KEEP_SOME && random_below(2) == 1;
    }
    for (int directories = 0; directories <= 1; directories++) {
        for (struct name *first = names; first != NULL; first = first->next) {
            if (first->path[0] == 0 || first->directory != (directories == 1)) {
                continue;
            }
            char *path = strdup(first->path);
            ino_t wanted = first->before;
            for (struct name *name = first; name != NULL; name = name->next) {
                if (strcmp(name->path, path) == 0) {
                    wanted = kept[name->operation] ? name->after : wanted;
                    name->path[0] = 0;
                }
            }
            settle_name(path, wanted, first->directory);
            free(path);
        }
    }
}

void undo_and_die(enum keep keep) {
    const struct range *torn = NULL;
    for (struct file *file = files; file != NULL && keep == KEEP_TORN; file = file->next) {
        for (struct range *range = file->ranges; range != NULL; range = range->next) {
            torn = range->new != NULL ? range : torn;
        }
        if (torn != NULL) {
            break; // files are listed with the newest first
        }
    }
    for (struct file *file = files; file != NULL; file = file->next) {
        settle_file(file, keep, torn);
    }
    settle_names(keep);
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}
