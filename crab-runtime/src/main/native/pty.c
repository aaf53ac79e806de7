/* Living terminals: a shell on a pseudo-terminal whose master pid 1 keeps, so that both ends lie inside the sandbox. */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct terminal {
    char name[NAME_SIZE]; /* empty: slot is free */
    int master;           /* -1 once the shell is gone */
    pid_t pid;
    bool exited;
    int status;
    struct connection *attached;
    uint8_t ring[RING_SIZE]; /* what the terminal showed and nobody read yet; the oldest goes first */
    size_t head, size;
};

static struct terminal terminals[MAX_TERMINALS];

unsigned terminals_count(void) {
    unsigned count = 0;
    for (size_t i = 0; i < MAX_TERMINALS; i++) {
        count += terminals[i].name[0] != 0 && !terminals[i].exited;
    }
    return count;
}

static struct terminal *find(const char *name) {
    for (size_t i = 0; i < MAX_TERMINALS; i++) {
        if (terminals[i].name[0] != 0 && strcmp(terminals[i].name, name) == 0) {
            return &terminals[i];
        }
    }
    return NULL;
}

static void ring_put(struct terminal *terminal, const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        terminal->ring[(terminal->head + terminal->size) % RING_SIZE] = bytes[i];
        if (terminal->size < RING_SIZE) {
            terminal->size++;
        } else {
            terminal->head = (terminal->head + 1) % RING_SIZE;
        }
    }
}

/* Shows the host what the ring holds, one round at a time, and then, if the shell is gone, its end. */
static void show(struct terminal *terminal) {
    struct connection *connection = terminal->attached;
    if (connection == NULL || !connection_idle(connection)) {
        return;
    }
    if (terminal->size > 0) {
        size_t straight = RING_SIZE - terminal->head;
        size_t size = terminal->size < straight ? terminal->size : straight;
        size = size < STREAM_ROUND ? size : STREAM_ROUND;
        connection_send(connection, REP_DATA, terminal->ring + terminal->head, size);
        terminal->head = (terminal->head + size) % RING_SIZE;
        terminal->size -= size;
    } else if (terminal->exited && terminal->master < 0) {
        connection_send(connection, REP_EXIT, &terminal->status, sizeof terminal->status);
        terminal_detach(connection);
        connection->closing = true;
    }
}

static void master_ready(void *subject, int detail, short events) {
    static uint8_t bytes[16384];
    struct terminal *terminal = subject;
    (void)detail;
    (void)events;
    if (terminal->master < 0) {
        return;
    }
    size_t room = RING_SIZE - terminal->size;
    size_t limit = terminal->attached != NULL && room < sizeof bytes ? room : sizeof bytes;
    ssize_t got = read(terminal->master, bytes, limit);
    if (got > 0) {
        ring_put(terminal, bytes, (size_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        /* EIO: no process has the other end open. Only a shell that is gone too ends the terminal. */
        if (terminal->exited) {
            close(terminal->master);
            terminal->master = -1;
        }
    }
}

static struct connection *inputs[MAX_CONNECTIONS];

static void feed(struct connection *connection, struct terminal *terminal) {
    while (connection->input_size > 0) {
        ssize_t put = terminal->master < 0 ? -1 : write(terminal->master, connection->input, connection->input_size);
        if (put < 0) {
            if (terminal->master >= 0 && (errno == EAGAIN || errno == EINTR)) {
                return;
            }
            connection_error(connection, EPIPE, STAGE_TERMINAL);
            break;
        }
        connection->input += put;
        connection->input_size -= (size_t)put;
    }
    if (!connection->closing) {
        connection_send(connection, REP_DONE, NULL, 0);
        connection->closing = true;
    }
    terminal_detach(connection);
    connection->kind = KIND_ATTACH; /* only flushes from here on */
    free(connection->body);
    connection->body = NULL;
}

static void input_ready(void *subject, int detail, short events) {
    struct connection *connection = subject;
    (void)detail;
    (void)events;
    if (connection->fd >= 0 && connection->kind == KIND_TERMINAL_INPUT && connection->terminal != NULL) {
        feed(connection, connection->terminal);
    }
}

void terminals_watch(void) {
    for (size_t i = 0; i < MAX_TERMINALS; i++) {
        struct terminal *terminal = &terminals[i];
        if (terminal->name[0] == 0) {
            continue;
        }
        show(terminal);
        if (terminal->master >= 0 && (terminal->attached == NULL || terminal->size < RING_SIZE)) {
            watch(terminal->master, POLLIN, master_ready, terminal, 0);
        }
    }
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        if (inputs[i] != NULL && inputs[i]->terminal->master >= 0) {
            watch(inputs[i]->terminal->master, POLLOUT, input_ready, inputs[i], 0);
        }
    }
}

void terminals_child_exited(pid_t pid, int status) {
    for (size_t i = 0; i < MAX_TERMINALS; i++) {
        if (terminals[i].name[0] != 0 && terminals[i].pid == pid && !terminals[i].exited) {
            terminals[i].exited = true;
            terminals[i].status = status;
        }
    }
}

/* Ends the connection's part in its terminal, as reader or as writer. */
void terminal_detach(struct connection *connection) {
    if (connection->terminal != NULL && connection->terminal->attached == connection) {
        connection->terminal->attached = NULL;
    }
    connection->terminal = NULL;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        if (inputs[i] == connection) {
            inputs[i] = NULL;
        }
    }
}

static int open_terminal(struct terminal *terminal, const struct program *program, const struct winsize *size) {
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    int unlock = 0, number, error[2] = {-1, -1};
    pid_t pid = -1;
    if (master >= 0 && ioctl(master, TIOCSPTLCK, &unlock) == 0 && ioctl(master, TIOCGPTN, &number) == 0
        && ioctl(master, TIOCSWINSZ, size) == 0 && pipe2(error, O_CLOEXEC) == 0) {
        pid = fork();
    }
    if (pid == 0) {
        char slave[32];
        snprintf(slave, sizeof slave, "/dev/pts/%d", number);
        setsid();
        int fd = open(slave, O_RDWR);
        ioctl(fd, TIOCSCTTY, 0);
        int report = fcntl(error[1], F_DUPFD_CLOEXEC, 16);
        for (int i = 0; i < 3; i++) {
            dup2(fd, i);
        }
        child_run(program, report, 3);
    }
    int cause = errno;
    if (pid > 0) {
        close(error[1]);
        int report[2];
        /* Blocks until the shell runs: that is the child's few system calls. */
        if (read(error[0], report, sizeof report) == (ssize_t)sizeof report) {
            pid = -1;
            cause = report[0];
        }
        close(error[0]);
    }
    if (pid < 0) {
        if (master >= 0) {
            close(master);
        }
        return cause;
    }
    terminal->master = master;
    terminal->pid = pid;
    return 0;
}

static void open_request(struct connection *connection, const uint8_t *body, size_t size) {
    const char *lead[2];
    struct program program;
    if (size < 12 || !parse_strings(body + 12, size - 12, get_u32(body + 4), get_u32(body + 8), lead, 2, &program)) {
        connection_error(connection, EINVAL, STAGE_REQUEST);
        return;
    }
    program.cwd = lead[1];
    struct terminal *terminal = find(lead[0]);
    bool created = terminal == NULL || terminal->exited;
    for (size_t i = 0; i < MAX_TERMINALS && terminal == NULL; i++) {
        terminal = terminals[i].name[0] == 0 || (terminals[i].exited && terminals[i].attached == NULL) ? &terminals[i] : NULL;
    }
    if (lead[0][0] == 0 || strlen(lead[0]) >= NAME_SIZE) {
        connection_error(connection, EINVAL, STAGE_REQUEST);
    } else if (terminal == NULL || (created && terminal->attached != NULL)) {
        connection_error(connection, EAGAIN, STAGE_LIMIT);
    } else {
        int error = 0;
        if (created) {
            if (terminal->name[0] != 0 && terminal->master >= 0) {
                close(terminal->master);
            }
            *terminal = (struct terminal){.master = -1};
            struct winsize window = {.ws_row = (unsigned short)(body[0] | body[1] << 8),
                .ws_col = (unsigned short)(body[2] | body[3] << 8)};
            error = open_terminal(terminal, &program, &window);
        }
        if (error != 0) {
            connection_error(connection, error, STAGE_TERMINAL);
        } else {
            uint8_t payload[5] = {(uint8_t)terminal->pid, (uint8_t)(terminal->pid >> 8), (uint8_t)(terminal->pid >> 16),
                (uint8_t)(terminal->pid >> 24), created};
            strcpy(terminal->name, lead[0]);
            connection_send(connection, REP_PTY, payload, sizeof payload);
            connection->closing = true;
        }
    }
    free_program(&program);
}

static void input_request(struct connection *connection, struct terminal *terminal, const uint8_t *bytes, size_t size) {
    connection->input = bytes;
    connection->input_size = size;
    connection->kind = KIND_TERMINAL_INPUT;
    connection->terminal = terminal;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        if (inputs[i] == NULL) {
            inputs[i] = connection;
            break;
        }
    }
    feed(connection, terminal);
}

void terminals_request(struct connection *connection, uint8_t type, uint8_t *body, size_t size) {
    if (type == REQ_PTY_OPEN) {
        open_request(connection, body, size);
        return;
    }
    size_t skip = type == REQ_PTY_RESIZE ? 4 : 0;
    body[size] = 0; /* the body has a byte to spare */
    struct terminal *terminal = size > skip ? find((const char *)body + skip) : NULL;
    if (terminal == NULL) {
        connection_error(connection, ENOENT, STAGE_TERMINAL);
    } else if (type == REQ_PTY_INPUT) {
        size_t name = strlen((const char *)body) + 1;
        input_request(connection, terminal, body + name, name < size ? size - name : 0);
    } else if (type == REQ_PTY_ATTACH && terminal->attached == NULL) {
        connection->kind = KIND_TERMINAL;
        connection->terminal = terminal;
        terminal->attached = connection;
    } else if (type == REQ_PTY_RESIZE) {
        struct winsize window = {
            .ws_row = (unsigned short)(body[0] | body[1] << 8), .ws_col = (unsigned short)(body[2] | body[3] << 8)};
        if (terminal->master >= 0) {
            ioctl(terminal->master, TIOCSWINSZ, &window);
        }
        connection_send(connection, REP_DONE, NULL, 0);
        connection->closing = true;
    } else {
        connection_error(connection, EBUSY, STAGE_TERMINAL);
    }
}
