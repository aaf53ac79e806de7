/* Commands: started as fresh sessions, their streams relayed, their ends reported. */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define EXIT_TABLE 256

static struct command commands[MAX_COMMANDS];
static struct {
    pid_t pid;
    int status;
} exits[EXIT_TABLE];
static size_t next_exit;

unsigned commands_count(void) {
    unsigned count = 0;
    for (size_t i = 0; i < MAX_COMMANDS; i++) {
        count += commands[i].used;
    }
    return count;
}

bool commands_running(pid_t pid) {
    for (size_t i = 0; i < MAX_COMMANDS; i++) {
        if (commands[i].used && commands[i].pid == pid && !commands[i].exited) {
            return true;
        }
    }
    return false;
}

bool commands_find_exit(pid_t pid, int *status) {
    for (size_t i = 1; i <= EXIT_TABLE; i++) { /* newest first: pids come round again */
        size_t at = (next_exit + EXIT_TABLE - i) % EXIT_TABLE;
        if (exits[at].pid == pid && !commands_running(pid)) {
            *status = exits[at].status;
            return true;
        }
    }
    return false;
}

static void close_fd(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* Moves a descriptor out of the way of the numbers that the child's streams will have. */
static int high(int fd) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 16);
    return moved < 0 ? fd : moved;
}

static pid_t start(struct command *command, const struct program *program, uint32_t flags, enum stage *stage) {
    int in[2] = {-1, -1}, error[2] = {-1, -1}, out[STREAMS][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int streams = flags & EXEC_STATE ? 3 : 2;
    bool failed = pipe2(error, O_CLOEXEC) < 0;
    failed = failed || ((flags & EXEC_STDIN) && pipe2(in, O_CLOEXEC) < 0);
    for (int i = 0; i < streams && !failed; i++) {
        failed = pipe2(out[i], O_CLOEXEC) < 0;
    }
    *stage = STAGE_PIPE;
    pid_t pid = -1;
    if (!failed) {
        *stage = STAGE_FORK;
        pid = fork();
    }
    if (pid == 0) {
        setsid();
        int source[4] = {high(flags & EXEC_STDIN ? in[0] : open("/dev/null", O_RDONLY)), high(out[STREAM_OUT][1]),
            high(out[STREAM_ERR][1]), streams == 3 ? high(out[STREAM_STATE][1]) : -1};
        int report = high(error[1]);
        for (int i = 0; i <= streams; i++) {
            dup2(source[i], i);
        }
        child_run(program, report, streams + 1);
    }
    int cause = errno;
    close_fd(&in[0]);
    close_fd(&error[1]);
    for (int i = 0; i < STREAMS; i++) {
        close_fd(&out[i][1]);
    }
    if (pid < 0) {
        close_fd(&in[1]);
        close_fd(&error[0]);
        for (int i = 0; i < STREAMS; i++) {
            close_fd(&out[i][0]);
        }
        errno = cause;
        return -1;
    }
    command->pid = pid;
    command->in = in[1];
    command->error_fd = error[0];
    fcntl(error[0], F_SETFL, O_NONBLOCK);
    if (in[1] >= 0) {
        fcntl(in[1], F_SETFL, O_NONBLOCK);
    }
    for (int i = 0; i < STREAMS; i++) {
        command->out[i] = out[i][0];
        if (out[i][0] >= 0) {
            fcntl(out[i][0], F_SETFL, O_NONBLOCK);
        }
    }
    return pid;
}

void command_request(struct connection *connection, const uint8_t *body, size_t size) {
    const char *cwd;
    struct program program;
    if (size < 12 || !parse_strings(body + 12, size - 12, get_u32(body + 4), get_u32(body + 8), &cwd, 1, &program)) {
        connection_error(connection, EINVAL, STAGE_REQUEST);
        return;
    }
    program.cwd = cwd;
    struct command *command = NULL;
    for (size_t i = 0; i < MAX_COMMANDS && command == NULL; i++) {
        command = commands[i].used ? NULL : &commands[i];
    }
    if (command == NULL || !drains_have_room()) {
        connection_error(connection, EAGAIN, STAGE_LIMIT);
    } else {
        enum stage stage;
        *command = (struct command){.in = -1, .error_fd = -1, .out = {-1, -1, -1}, .connection = connection};
        if (start(command, &program, get_u32(body), &stage) < 0) {
            connection_error(connection, errno, stage);
        } else {
            command->used = true;
            connection->kind = KIND_COMMAND;
            connection->command = command;
        }
    }
    free_program(&program);
}

static void drop_input(struct command *command) {
    close_fd(&command->in);
    free(command->pending);
    command->pending = NULL;
}

static void credit(struct command *command) {
    if (command->connection != NULL && !command->in_eof) {
        connection_send(command->connection, REP_CREDIT, NULL, 0);
    }
}

static void feed(struct command *command) {
    while (command->pending != NULL) {
        ssize_t put = command->in < 0 ? -1
                                      : write(command->in, command->pending + command->pending_sent,
                                            command->pending_size - command->pending_sent);
        if (put < 0 && command->in >= 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (put < 0) {
            drop_input(command); /* nobody reads: the rest is taken and dropped */
            credit(command);
            return;
        }
        command->pending_sent += (size_t)put;
        if (command->pending_sent == command->pending_size) {
            free(command->pending);
            command->pending = NULL;
            credit(command);
        }
    }
    if (command->in_eof) {
        close_fd(&command->in);
    }
}

void command_follow_up(struct connection *connection, uint8_t type, uint8_t *body, size_t size) {
    struct command *command = connection->command;
    switch (type) {
    case FOL_STDIN:
        if (command->pending != NULL || command->in_eof || size == 0) {
            connection_close(connection);
            return;
        }
        command->pending = body;
        command->pending_size = size;
        command->pending_sent = 0;
        connection->body = NULL; /* the command owns it now */
        feed(command);
        break;
    case FOL_STDIN_EOF:
        command->in_eof = true;
        feed(command);
        break;
    case FOL_KILL:
        if (!command->exited) {
            kill_session(command->pid);
        }
        break;
    default:
        connection_close(connection);
    }
}

void command_hung_up(struct command *command) {
    command->connection->command = NULL;
    command->connection = NULL;
    drop_input(command);
}

static void error_ready(void *subject, int detail, short events) {
    struct command *command = subject;
    int report[2];
    (void)detail;
    (void)events;
    if (!command->used || command->error_fd < 0) {
        return;
    }
    ssize_t got = read(command->error_fd, report, sizeof report);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    close_fd(&command->error_fd);
    struct connection *connection = command->connection;
    if (got == (ssize_t)sizeof report) {
        if (connection != NULL) {
            connection->command = NULL;
            command->connection = NULL;
            connection_error(connection, report[0], (enum stage)report[1]);
        }
    } else if (connection != NULL) {
        uint32_t pid = (uint32_t)command->pid;
        connection_send(connection, REP_START, &pid, sizeof pid);
    }
    command->started = true;
}

static void input_ready(void *subject, int detail, short events) {
    struct command *command = subject;
    (void)detail;
    (void)events;
    if (command->used) {
        feed(command);
    }
}

/* Relays one round of a stream; without a host that listens, reads it to nowhere. */
static void output_ready(void *subject, int stream, short events) {
    static char nowhere[STREAM_ROUND];
    struct command *command = subject;
    (void)events;
    if (!command->used || command->out[stream] < 0) {
        return;
    }
    size_t limit = command->exited ? (size_t)command->left[stream] : STREAM_ROUND;
    if (limit == 0) {
        return;
    }
    ssize_t got = command->connection != NULL
        ? connection_relay(command->connection, (uint8_t)(REP_STDOUT + stream), command->out[stream], limit)
        : read(command->out[stream], nowhere, limit < sizeof nowhere ? limit : sizeof nowhere);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        close_fd(&command->out[stream]);
    } else if (command->exited) {
        command->left[stream] -= (int)got;
    }
}

void commands_watch(void) {
    for (size_t i = 0; i < MAX_COMMANDS; i++) {
        struct command *command = &commands[i];
        if (!command->used) {
            continue;
        }
        if (command->error_fd >= 0) {
            watch(command->error_fd, POLLIN, error_ready, command, 0);
            continue; /* START comes before any output */
        }
        if (command->pending != NULL && command->in >= 0) {
            watch(command->in, POLLOUT, input_ready, command, 0);
        }
        if (command->connection != NULL && !connection_idle(command->connection)) {
            continue; /* the host reads slowly: so does the command write */
        }
        for (int stream = 0; stream < STREAMS; stream++) {
            if (command->out[stream] >= 0 && (!command->exited || command->left[stream] > 0)) {
                watch(command->out[stream], POLLIN, output_ready, command, stream);
            }
        }
    }
}

bool commands_child_exited(pid_t pid, int status) {
    for (size_t i = 0; i < MAX_COMMANDS; i++) {
        struct command *command = &commands[i];
        if (!command->used || command->exited || command->pid != pid) {
            continue;
        }
        if (command->error_fd >= 0) {
            error_ready(command, 0, POLLIN);
        }
        command->exited = true;
        command->status = status;
        drop_input(command);
        exits[next_exit].pid = pid;
        exits[next_exit].status = status;
        next_exit = (next_exit + 1) % EXIT_TABLE;
        /* Owed is what lies in the pipes now: what survivors write later belongs to nobody, and could go on for ever. */
        for (int stream = 0; stream < STREAMS; stream++) {
            if (command->out[stream] >= 0 && ioctl(command->out[stream], FIONREAD, &command->left[stream]) < 0) {
                command->left[stream] = 0;
            }
        }
        return true;
    }
    return false;
}

void commands_finish(void) {
    for (size_t i = 0; i < MAX_COMMANDS; i++) {
        struct command *command = &commands[i];
        if (!command->used || !command->exited || command->error_fd >= 0) {
            continue;
        }
        bool owed = false;
        for (int stream = 0; stream < STREAMS; stream++) {
            owed = owed || (command->out[stream] >= 0 && command->left[stream] > 0);
        }
        if (owed) {
            continue;
        }
        if (command->connection != NULL) {
            struct connection *connection = command->connection;
            connection_send(connection, REP_EXIT, &command->status, sizeof command->status);
            if (connection->fd >= 0) {
                connection->command = NULL;
                connection->closing = true;
            }
        }
        close_fd(&command->out[STREAM_STATE]);
        for (int stream = 0; stream < STREAM_STATE; stream++) {
            if (command->out[stream] >= 0) {
                drain_add(command->out[stream]);
            }
        }
        *command = (struct command){.used = false};
    }
}
