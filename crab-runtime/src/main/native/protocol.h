/* The exec protocol between the host and pid 1; docs/exec-protocol.md describes it. All numbers are little-endian. */
#ifndef CRAB_PROTOCOL_H
#define CRAB_PROTOCOL_H

#define SOCKET_DIRECTORY "/run/crab"
#define SOCKET_PATH "/run/crab/exec.sock"

/* A frame is u32 payload length, u8 type, payload. */
#define HEADER_SIZE 5
#define MAX_CHUNK 65536         /* payload of a data frame */
#define MAX_COMMAND (2 << 20)   /* payload of EXEC and PTY_OPEN */
#define MAX_SMALL 8192          /* payload of every other frame */

/* Requests: the first frame of a connection. */
enum request {
    REQ_EXEC = 0x01,       /* u32 flags, u32 argc, u32 envc, then NUL-terminated: cwd, argv..., env... */
    REQ_ATTACH = 0x02,     /* u32 pid */
    REQ_FILE_READ = 0x03,  /* u64 limit, path */
    REQ_FILE_WRITE = 0x04, /* path; DATA frames follow */
    REQ_FILE_LIST = 0x05,  /* path */
    REQ_PTY_OPEN = 0x06,   /* u16 rows, u16 columns, u32 argc, u32 envc, strings: name, cwd, argv..., env... */
    REQ_PTY_INPUT = 0x07,  /* name, NUL, bytes (at most MAX_SMALL in all) */
    REQ_PTY_ATTACH = 0x08, /* name */
    REQ_PTY_RESIZE = 0x09, /* u16 rows, u16 columns, name */
    REQ_PING = 0x0a,
};

/* Later frames from the host. */
enum follow_up {
    FOL_STDIN = 0x10, /* at most one chunk per CREDIT; the first needs none */
    FOL_STDIN_EOF = 0x11,
    FOL_KILL = 0x12, /* SIGKILL to the command's process group and session */
    FOL_DATA = 0x13,
    FOL_DATA_EOF = 0x14,
    FOL_DETACH = 0x15,
};

/* Frames from pid 1. */
enum reply {
    REP_START = 0x20, /* u32 pid */
    REP_STDOUT = 0x21,
    REP_STDERR = 0x22,
    REP_STATE = 0x23,
    REP_EXIT = 0x24,  /* i32 wait status */
    REP_ERROR = 0x25, /* i32 errno, u8 stage */
    REP_CREDIT = 0x26,
    REP_DATA = 0x27,
    REP_ENTRY = 0x28, /* u8 type (0 file, 1 directory, 2 link, 3 other), u64 size, name */
    REP_DONE = 0x29,
    REP_PTY = 0x2a,  /* u32 pid, u8 created */
    REP_PONG = 0x2b, /* u32 other connections, u32 running commands, u32 terminals */
};

#define EXEC_STDIN 1u /* STDIN frames follow; else standard input is /dev/null */
#define EXEC_STATE 2u /* descriptor 3 is a pipe whose bytes come back as STATE */

/* Where an ERROR arose. */
enum stage {
    STAGE_REQUEST = 0,
    STAGE_LIMIT = 1, /* a table of pid 1 is full */
    STAGE_PIPE = 2,
    STAGE_FORK = 3,
    STAGE_CWD = 4,
    STAGE_EXEC = 5,
    STAGE_OPEN = 6,
    STAGE_TRANSFER = 7,
    STAGE_TERMINAL = 8,
};

#endif
