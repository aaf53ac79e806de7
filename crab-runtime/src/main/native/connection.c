/* Connections of the host: who may connect, frames in, frames out. */
#include "init.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct connection connections[MAX_CONNECTIONS];

void connections_init(void) {
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        connections[i].fd = -1;
    }
}

unsigned connections_count(const struct connection *except) {
    unsigned count = 0;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        count += connections[i].fd >= 0 && &connections[i] != except;
    }
    return count;
}

void connections_accept(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid != 0 || peer.uid != 0) {
        close(fd);
        return;
    }
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        if (connections[i].fd < 0) {
            connections[i] = (struct connection){.fd = fd, .kind = KIND_NEW};
            connections[i].out = malloc(OUT_SIZE);
            if (connections[i].out == NULL) {
                connection_close(&connections[i]);
            }
            return;
        }
    }
    close(fd);
}

void connection_close(struct connection *connection) {
    if (connection->fd < 0) {
        return;
    }
    if (connection->command != NULL) {
        command_hung_up(connection->command);
    }
    if (connection->terminal != NULL) {
        terminal_detach(connection);
    }
    close(connection->fd);
    free(connection->body);
    free(connection->out);
    *connection = (struct connection){.fd = -1};
}

bool connection_idle(const struct connection *connection) { return connection->out_size == 0; }

static void flush(struct connection *connection) {
    while (connection->out_sent < connection->out_size) {
        ssize_t sent = send(connection->fd, connection->out + connection->out_sent,
            connection->out_size - connection->out_sent, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                connection_close(connection);
            }
            return;
        }
        connection->out_sent += (size_t)sent;
    }
    connection->out_sent = connection->out_size = 0;
    if (connection->closing) {
        connection_close(connection);
    }
}

static void put_header(uint8_t *at, uint32_t size, uint8_t type) {
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(size >> (8 * i));
    }
    at[4] = type;
}

void connection_send(struct connection *connection, uint8_t type, const void *payload, size_t size) {
    if (connection->out_size + HEADER_SIZE + size > OUT_SIZE) {
        connection_close(connection); /* a host that asks on and on and reads no answer */
        return;
    }
    put_header(connection->out + connection->out_size, (uint32_t)size, type);
    if (size > 0) {
        memcpy(connection->out + connection->out_size + HEADER_SIZE, payload, size);
    }
    connection->out_size += HEADER_SIZE + size;
}

void connection_error(struct connection *connection, int error, enum stage stage) {
    uint8_t payload[5];
    put_header(payload, (uint32_t)error, (uint8_t)stage);
    connection_send(connection, REP_ERROR, payload, sizeof payload);
    connection->closing = true;
}

ssize_t connection_relay(struct connection *connection, uint8_t type, int fd, size_t limit) {
    size_t room = OUT_SIZE - connection->out_size;
    size_t size = limit < STREAM_ROUND ? limit : STREAM_ROUND;
    if (room < HEADER_SIZE + size) {
        errno = EAGAIN;
        return -1;
    }
    uint8_t *at = connection->out + connection->out_size;
    ssize_t got = read(fd, at + HEADER_SIZE, size);
    if (got > 0) {
        put_header(at, (uint32_t)got, type);
        connection->out_size += HEADER_SIZE + (size_t)got;
    }
    return got;
}

static uint32_t body_limit(uint8_t type) {
    switch (type) {
    case REQ_EXEC:
    case REQ_PTY_OPEN:
        return MAX_COMMAND;
    case FOL_STDIN:
    case FOL_DATA:
        return MAX_CHUNK;
    default:
        return MAX_SMALL;
    }
}

static void attach(struct connection *connection, const uint8_t *body, size_t size) {
    pid_t pid = size == 4 ? (pid_t)get_u32(body) : -1;
    int status;
    if (pid > 0 && commands_find_exit(pid, &status)) {
        connection_send(connection, REP_EXIT, &status, sizeof status);
        connection->closing = true;
    } else if (pid > 0 && commands_running(pid)) {
        connection->kind = KIND_ATTACH;
        connection->pid = pid;
    } else {
        connection_error(connection, ESRCH, STAGE_REQUEST);
    }
}

static void first_frame(struct connection *connection, uint8_t type, uint8_t *body, size_t size) {
    switch (type) {
    case REQ_EXEC:
        command_request(connection, body, size);
        break;
    case REQ_ATTACH:
        attach(connection, body, size);
        break;
    case REQ_FILE_READ:
    case REQ_FILE_WRITE:
    case REQ_FILE_LIST:
        files_request(connection, type, body, size);
        break;
    case REQ_PTY_OPEN:
    case REQ_PTY_INPUT:
    case REQ_PTY_ATTACH:
    case REQ_PTY_RESIZE:
        terminals_request(connection, type, body, size);
        break;
    case REQ_PING: {
        uint32_t counts[3] = {connections_count(connection), commands_count(), terminals_count()};
        connection_send(connection, REP_PONG, counts, sizeof counts);
        connection->closing = true;
        break;
    }
    default:
        connection_error(connection, EINVAL, STAGE_REQUEST);
    }
}

static void frame(struct connection *connection) {
    uint8_t type = connection->header[4];
    size_t size = connection->body_size;
    uint8_t *body = connection->body;
    connection->header_got = 0;
    if (connection->kind == KIND_NEW) {
        first_frame(connection, type, body, size);
    } else if (connection->kind == KIND_COMMAND && connection->command != NULL) {
        command_follow_up(connection, type, body, size);
    } else if (connection->kind == KIND_TERMINAL && type == FOL_DETACH) {
        terminal_detach(connection);
        connection->closing = true;
    } else if (!connection->closing) {
        connection_close(connection);
    }
    if (connection->fd >= 0 && connection->kind != KIND_TERMINAL_INPUT) {
        free(connection->body);
        connection->body = NULL;
    }
}

/* Takes one frame's next bytes; returns whether there may be more to read. */
static bool receive(struct connection *connection) {
    ssize_t got;
    if (connection->header_got < HEADER_SIZE) {
        got = recv(connection->fd, connection->header + connection->header_got, HEADER_SIZE - connection->header_got, 0);
        if (got > 0 && (connection->header_got += (size_t)got) == HEADER_SIZE) {
            connection->body_size = get_u32(connection->header);
            connection->body_got = 0;
            if (connection->body_size > body_limit(connection->header[4])
                || (connection->body = malloc(connection->body_size + 1)) == NULL) {
                connection_close(connection);
                return false;
            }
            if (connection->body_size == 0) {
                frame(connection);
            }
        }
    } else {
        got = recv(connection->fd, connection->body + connection->body_got, connection->body_size - connection->body_got, 0);
        if (got > 0 && (connection->body_got += (uint32_t)got) == connection->body_size) {
            frame(connection);
        }
    }
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        connection_close(connection);
        return false;
    }
    return got > 0;
}

/* A file worker reads the connection itself; an input that still waits for its terminal takes no further frame. */
static bool reads(const struct connection *connection) {
    return connection->kind != KIND_WORKER && connection->kind != KIND_TERMINAL_INPUT;
}

static void ready(void *subject, int detail, short events) {
    struct connection *connection = subject;
    (void)detail;
    if (connection->fd >= 0 && connection->out_size > 0) {
        flush(connection);
    }
    if (connection->fd >= 0 && !reads(connection) && (events & (POLLHUP | POLLERR))) {
        connection_close(connection);
    }
    for (int i = 0; i < 8 && connection->fd >= 0 && reads(connection) && receive(connection); i++) {
    }
    if (connection->fd >= 0 && connection->out_size > 0 && connection->kind != KIND_WORKER) {
        flush(connection);
    }
}

void connections_watch(void) {
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &connections[i];
        if (connection->fd < 0 || connection->kind == KIND_WORKER) {
            continue;
        }
        if (connection->out_size > 0 || connection->closing) {
            flush(connection);
            if (connection->fd < 0) {
                continue;
            }
        }
        short events = (short)((reads(connection) ? POLLIN : 0) | (connection->out_size > 0 ? POLLOUT : 0));
        watch(connection->fd, events, ready, connection, 0);
    }
}

void connections_child_exited(pid_t pid, int status) {
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &connections[i];
        if (connection->fd < 0 || connection->pid != pid) {
            continue;
        }
        if (connection->kind == KIND_WORKER) {
            connection_close(connection);
        } else if (connection->kind == KIND_ATTACH) {
            connection_send(connection, REP_EXIT, &status, sizeof status);
            connection->closing = true;
            connection->pid = 0;
        }
    }
}
