/* File operations: each in a forked child, which may block and serves the connection itself. */
#include "init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENTRIES 100000

static int host; /* the connection, blocking here */

static void send_all(const void *bytes, size_t size) {
    for (size_t sent = 0; sent < size;) {
        ssize_t put = send(host, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            _exit(1);
        }
        sent += (size_t)put;
    }
}

static void reply(uint8_t type, const void *payload, size_t size) {
    uint8_t header[HEADER_SIZE] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16), 0, type};
    send_all(header, sizeof header);
    send_all(payload, size);
}

_Noreturn static void fail(int error, enum stage stage) {
    uint8_t payload[5] = {(uint8_t)error, (uint8_t)(error >> 8), 0, 0, (uint8_t)stage};
    reply(REP_ERROR, payload, sizeof payload);
    _exit(0);
}

_Noreturn static void done(void) {
    reply(REP_DONE, NULL, 0);
    _exit(0);
}

_Noreturn static void read_file(const char *path, uint64_t limit) {
    static char chunk[MAX_CHUNK];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        fail(errno, STAGE_OPEN);
    }
    if (!S_ISREG(st.st_mode)) {
        fail(S_ISDIR(st.st_mode) ? EISDIR : EINVAL, STAGE_OPEN);
    }
    if ((uint64_t)st.st_size > limit) {
        fail(EFBIG, STAGE_OPEN);
    }
    for (uint64_t total = 0;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0) {
            fail(errno, STAGE_TRANSFER);
        }
        if (got == 0) {
            done();
        }
        total += (uint64_t)got;
        if (total > limit) {
            fail(EFBIG, STAGE_TRANSFER);
        }
        reply(REP_DATA, chunk, (size_t)got);
    }
}

static void make_parents(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0755) < 0 && errno != EEXIST) {
            fail(errno, STAGE_OPEN);
        }
        *slash = '/';
    }
}

static void receive_all(void *bytes, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t now = recv(host, (char *)bytes + got, size - got, 0);
        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now <= 0) {
            errno = ECONNRESET;
            got = size + 1;
            return;
        }
        got += (size_t)now;
    }
    errno = 0;
}

/* Copies DATA frames into fd; returns 0 or the error. */
static int receive_file(int fd) {
    static char chunk[MAX_CHUNK];
    for (;;) {
        uint8_t header[HEADER_SIZE];
        receive_all(header, sizeof header);
        if (errno != 0) {
            return errno;
        }
        uint32_t size = get_u32(header);
        if (header[4] == FOL_DATA_EOF && size == 0) {
            return 0;
        }
        if (header[4] != FOL_DATA || size > sizeof chunk) {
            return EPROTO;
        }
        receive_all(chunk, size);
        if (errno != 0) {
            return errno;
        }
        for (size_t put = 0; put < size;) {
            ssize_t now = write(fd, chunk + put, size - put);
            if (now < 0) {
                return errno;
            }
            put += (size_t)now;
        }
    }
}

_Noreturn static void write_file(char *path) {
    static char target[PATH_MAX], temporary[PATH_MAX + 32];
    struct stat st;
    if (strlen(path) >= PATH_MAX) {
        fail(ENAMETOOLONG, STAGE_OPEN);
    }
    make_parents(path);
    /* A link stays: what it points to is written. A dangling one is replaced by the file. */
    if (realpath(path, target) == NULL) {
        strcpy(target, path);
    }
    bool exists = stat(target, &st) == 0;
    if (exists && !S_ISREG(st.st_mode)) {
        fail(S_ISDIR(st.st_mode) ? EISDIR : EINVAL, STAGE_OPEN);
    }
    char *slash = strrchr(target, '/');
    snprintf(temporary, sizeof temporary, "%.*s/.crab-write-%ld", (int)(slash - target), target, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        fail(errno, STAGE_OPEN);
    }
    int error = receive_file(fd);
    if (error == 0 && exists && fchown(fd, st.st_uid, st.st_gid) < 0) {
        error = errno;
    }
    if (error == 0 && fchmod(fd, exists ? st.st_mode & 07777 : 0644) < 0) {
        error = errno;
    }
    if (error == 0 && (close(fd) < 0 || rename(temporary, target) < 0)) {
        error = errno;
    }
    if (error != 0) {
        unlink(temporary);
        fail(error, STAGE_TRANSFER);
    }
    done();
}

_Noreturn static void list_files(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL) {
        fail(errno, STAGE_OPEN);
    }
    int entries = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0
            || fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            continue;
        }
        if (++entries > MAX_ENTRIES) {
            fail(EOVERFLOW, STAGE_TRANSFER);
        }
        uint8_t payload[9 + NAME_MAX + 1];
        payload[0] = S_ISREG(st.st_mode) ? 0 : S_ISDIR(st.st_mode) ? 1 : S_ISLNK(st.st_mode) ? 2 : 3;
        uint64_t size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
        memcpy(payload + 1, &size, sizeof size);
        size_t length = strlen(entry->d_name);
        memcpy(payload + 9, entry->d_name, length);
        reply(REP_ENTRY, payload, 9 + length);
    }
    done();
}

void files_request(struct connection *connection, uint8_t type, const uint8_t *body, size_t size) {
    size_t skip = type == REQ_FILE_READ ? 8 : 0;
    if (size <= skip || size - skip >= PATH_MAX || body[skip] != '/' || memchr(body + skip, 0, size - skip) != NULL) {
        connection_error(connection, EINVAL, STAGE_REQUEST);
        return;
    }
    pid_t pid = fork();
    if (pid < 0) {
        connection_error(connection, errno, STAGE_FORK);
        return;
    }
    if (pid > 0) {
        connection->kind = KIND_WORKER;
        connection->pid = pid;
        return;
    }
    static char path[PATH_MAX];
    uint64_t limit = 0;
    memcpy(&limit, body, skip);
    memcpy(path, body + skip, size - skip);
    setsid();
    host = dup2(connection->fd, 3);
    fcntl(host, F_SETFL, 0);
    close_range(4, ~0u, 0);
    child_reset();
    switch (type) {
    case REQ_FILE_READ:
        read_file(path, limit);
    case REQ_FILE_WRITE:
        write_file(path);
    default:
        list_files(path);
    }
}
