/* Programs: what a request asks to run, and the fresh child that becomes it. */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_STRINGS 65536

uint32_t get_u32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Splits NUL-terminated strings: leads fixed ones, then argc and envc more, and nothing after them. The body has a byte to spare. */
bool parse_strings(const uint8_t *body, size_t size, uint32_t argc, uint32_t envc, const char **lead, size_t leads,
    struct program *program) {
    if (argc < 1 || argc > MAX_STRINGS || envc > MAX_STRINGS) {
        return false;
    }
    char **strings = calloc((size_t)argc + envc + 2, sizeof *strings);
    if (strings == NULL) {
        return false;
    }
    program->argv = strings;
    program->envp = strings + argc + 1;
    size_t at = 0;
    for (size_t i = 0; i < leads + argc + envc; i++) {
        const uint8_t *end = at < size ? memchr(body + at, 0, size - at) : NULL;
        if (end == NULL) {
            free_program(program);
            return false;
        }
        char *string = (char *)body + at;
        if (i < leads) {
            lead[i] = string;
        } else if (i < leads + argc) {
            program->argv[i - leads] = string;
        } else {
            program->envp[i - leads - argc] = string;
        }
        at = (size_t)(end - body) + 1;
    }
    if (at != size) {
        free_program(program);
        return false;
    }
    return true;
}

void free_program(struct program *program) {
    free(program->argv);
    program->argv = NULL;
}

void child_reset(void) {
    sigset_t none;
    sigemptyset(&none);
    /* By the system call: the library keeps 32 and 33 to itself, and they may come here ignored. Layout: the kernel's sigaction. */
    const struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } by_default = {0};
    for (int number = 1; number <= 64; number++) {
        syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof by_default.mask);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(022);
    /* Pid 1 is the last that the kernel should choose when the memory runs out; its children are not. */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t ignored = write(fd, "0", 1);
        (void)ignored;
        close(fd);
    }
}

_Noreturn static void child_fail(int error_fd, enum stage stage) {
    int report[2] = {errno, stage};
    ssize_t ignored = write(error_fd, report, sizeof report);
    (void)ignored;
    _exit(127);
}

_Noreturn void child_run(const struct program *program, int error_fd, int keep_below) {
    /* The report's descriptor closes when the program runs; all else above the kept ones closes now. */
    if (error_fd != keep_below) {
        dup3(error_fd, keep_below, O_CLOEXEC);
    }
    close_range((unsigned)keep_below + 1, ~0u, 0);
    child_reset();
    if (chdir(program->cwd) < 0) {
        child_fail(keep_below, STAGE_CWD);
    }
    environ = program->envp;
    execvp(program->argv[0], program->argv);
    child_fail(keep_below, STAGE_EXEC);
}

