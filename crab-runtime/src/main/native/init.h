/* What the files of crab-init share. Single-threaded throughout; nothing here may block. */
#ifndef CRAB_INIT_H
#define CRAB_INIT_H

#include "protocol.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_CONNECTIONS 128
#define MAX_COMMANDS 128
#define MAX_TERMINALS 16
#define MAX_DRAINS 1024
#define MAX_POLLS (2 + MAX_CONNECTIONS + 5 * MAX_COMMANDS + 2 * MAX_TERMINALS + MAX_DRAINS)
#define STREAM_ROUND 24576 /* bytes relayed of one stream before the next has its turn */
#define OUT_SIZE (3 * (STREAM_ROUND + HEADER_SIZE) + 1024)
#define RING_SIZE 65536
#define NAME_SIZE 64

enum connection_kind {
    KIND_NEW,
    KIND_COMMAND,
    KIND_ATTACH,
    KIND_WORKER,
    KIND_TERMINAL,
    KIND_TERMINAL_INPUT,
};

struct command;
struct terminal;

/* One accepted connection of the host. */
struct connection {
    int fd; /* -1: slot is free */
    enum connection_kind kind;
    bool closing; /* close as soon as the output is flushed */
    uint8_t header[HEADER_SIZE];
    size_t header_got;
    uint8_t *body;
    uint32_t body_size, body_got;
    uint8_t *out;
    size_t out_size, out_sent;
    struct command *command;
    struct terminal *terminal;
    pid_t pid; /* of the worker, or the one waited for */
    const uint8_t *input; /* rest of a PTY_INPUT, inside body */
    size_t input_size;
};

enum stream { STREAM_OUT, STREAM_ERR, STREAM_STATE, STREAMS };

/* One command that was started and not yet reported. */
struct command {
    bool used;
    pid_t pid;
    bool started, exited;
    int status;
    int error_fd;       /* tells errno and stage of a failed start; end of file means the program runs */
    int in;             /* write end of standard input, or -1 */
    int out[STREAMS];   /* read ends, or -1 */
    int left[STREAMS];  /* after the leader's exit: bytes still owed to the host */
    struct connection *connection; /* NULL once the host hung up */
    uint8_t *pending;   /* standard input not yet taken */
    size_t pending_size, pending_sent;
    bool in_eof;
};

/* What a program is started with; points into the request's body. */
struct program {
    const char *cwd;
    char **argv;
    char **envp;
};

/* The poll set of one round. */
typedef void (*poll_handler)(void *subject, int detail, short events);
void watch(int fd, short events, poll_handler handler, void *subject, int detail);

/* connection.c */
void connections_init(void);
void connections_accept(int listener);
void connections_watch(void);
void connections_child_exited(pid_t pid, int status);
void connection_close(struct connection *connection);
bool connection_idle(const struct connection *connection);
void connection_send(struct connection *connection, uint8_t type, const void *payload, size_t size);
void connection_error(struct connection *connection, int error, enum stage stage);
/* Reads at most STREAM_ROUND bytes from fd into a frame; returns what read() returned. */
ssize_t connection_relay(struct connection *connection, uint8_t type, int fd, size_t limit);
unsigned connections_count(const struct connection *except);

/* command.c */
void command_request(struct connection *connection, const uint8_t *body, size_t size);
void command_follow_up(struct connection *connection, uint8_t type, uint8_t *body, size_t size);
void command_hung_up(struct command *command);
void commands_watch(void);
bool commands_child_exited(pid_t pid, int status);
void commands_finish(void);
bool commands_find_exit(pid_t pid, int *status);
bool commands_running(pid_t pid);
unsigned commands_count(void);

/* program.c */
bool parse_strings(const uint8_t *body, size_t size, uint32_t argc, uint32_t envc, const char **lead, size_t leads,
    struct program *program);
void free_program(struct program *program);
/* In a fresh child: undoes what pid 1 set up for itself, then runs the program. Does not return. */
_Noreturn void child_run(const struct program *program, int error_fd, int keep_below);
void child_reset(void);
uint32_t get_u32(const uint8_t *bytes);

/* session.c */
/* SIGKILL to the leader's process group, then to whoever left the group but not the session. */
void kill_session(pid_t leader);

/* files.c */
void files_request(struct connection *connection, uint8_t type, const uint8_t *body, size_t size);

/* pty.c */
void terminals_request(struct connection *connection, uint8_t type, uint8_t *body, size_t size);
void terminal_detach(struct connection *connection);
void terminals_watch(void);
void terminals_child_exited(pid_t pid, int status);
unsigned terminals_count(void);

/* drain.c: pipes whose writers outlive their command, read to nowhere so that they get no SIGPIPE */
bool drains_have_room(void);
void drain_add(int fd);
void drains_watch(void);

#endif
