/*
 * crab-init: pid 1 of a sandbox.
 *
 * It starts commands for the host, so that they inherit the sandbox's capabilities, system-call filter, cgroup and namespaces, relays
 * their streams, and reaps. One thread, one poll loop, no call that blocks. Everything it holds lies inside the sandbox (its standard
 * streams are the sandbox's /dev/null, pipes and terminals are its own), except accepted connections, which it closes before the host
 * does: a checkpoint taken between two requests finds nothing that leads outside.
 *
 * Who may talk to it: peers whose process lies outside the sandbox's pid namespace (SO_PEERCRED says pid 0) and who are root. A process
 * inside, root or not, has a pid there and is turned away.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct pollfd polls[MAX_POLLS];
static struct {
    poll_handler handler;
    void *subject;
    int detail;
} watched[MAX_POLLS];
static nfds_t poll_count;

void watch(int fd, short events, poll_handler handler, void *subject, int detail) {
    if (poll_count == MAX_POLLS) {
        return;
    }
    polls[poll_count] = (struct pollfd){.fd = fd, .events = events};
    watched[poll_count].handler = handler;
    watched[poll_count].subject = subject;
    watched[poll_count].detail = detail;
    poll_count++;
}

static void die(const char *what) {
    fprintf(stderr, "crab-init: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Makes the path a directory of root that nobody else enters, moving aside whatever a former life of the files left there. */
static bool own_directory(const char *path, mode_t mode) {
    struct stat st;
    if (lstat(path, &st) == 0 && (!S_ISDIR(st.st_mode) || st.st_uid != 0)) {
        char aside[128];
        snprintf(aside, sizeof aside, "%s.replaced.%ld", path, (long)time(NULL));
        if (unlink(path) < 0 && rename(path, aside) < 0) {
            return false;
        }
    }
    return (mkdir(path, mode) == 0 || errno == EEXIST) && chmod(path, mode) == 0;
}

/* A new listening socket at its path; -1 with errno. */
static int listen_on_socket(void) {
    if (!own_directory("/run", 0755) || !own_directory(SOCKET_DIRECTORY, 0700)) {
        return -1;
    }
    if (unlink(SOCKET_PATH) < 0 && errno != ENOENT) {
        char aside[128];
        snprintf(aside, sizeof aside, "%s.replaced.%ld", SOCKET_PATH, (long)time(NULL));
        if (rename(SOCKET_PATH, aside) < 0) {
            return -1;
        }
    }
    int fresh = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fresh < 0) {
        return -1;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET_PATH};
    umask(077);
    bool listens = bind(fresh, (struct sockaddr *)&address, sizeof address) == 0 && listen(fresh, MAX_CONNECTIONS) == 0;
    umask(022);
    if (!listens) {
        close(fresh);
        return -1;
    }
    return fresh;
}

static int listener = -1;

/*
 * The host does not find the socket: a program of the sandbox has removed it, which may be an innocent `rm -rf /run/anything`. The
 * descriptor keeps its number, so that a checkpoint finds the same descriptors before and after.
 */
static void listen_anew(void) {
    struct stat st;
    if (lstat(SOCKET_PATH, &st) == 0) {
        return; /* somebody is there: whether it is us, the host will see */
    }
    int fresh = listen_on_socket();
    if (fresh >= 0) {
        dup3(fresh, listener, O_CLOEXEC);
        close(fresh);
    }
}

static void on_signal(void *subject, int fd, short events) {
    struct signalfd_siginfo info;
    (void)subject;
    (void)events;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            listen_anew();
        }
    }
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (!commands_child_exited(pid, status)) {
            terminals_child_exited(pid, status);
        }
        connections_child_exited(pid, status);
    }
}

static void accept_one(void *subject, int fd, short events) {
    (void)subject;
    (void)events;
    connections_accept(fd);
}

/* Standard streams that came from outside would tie the sandbox to the host: a checkpoint could not be restored elsewhere. */
static void cut_off(void) {
    int null = open("/dev/null", O_RDWR);
    if (null < 0) {
        die("/dev/null");
    }
    for (int fd = 0; fd < 3; fd++) {
        dup2(null, fd);
    }
    if (null > 2) {
        close(null);
    }
}

/*
 * Where shm_open() and named semaphores make their files. A plain directory: one that is there, with whatever mode, is the image's or the
 * sandbox's own and is left alone.
 */
static void make_shared_memory_directory(void) {
    if (mkdir("/dev/shm", 01777) == 0) {
        chmod("/dev/shm", 01777); /* whatever the umask is */
    }
}

int main(void) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    signal(SIGPIPE, SIG_IGN);
    /* Not dumpable: a process of the sandbox lacks CAP_SYS_PTRACE, so it can neither trace pid 1 nor reach its descriptors. */
    prctl(PR_SET_DUMPABLE, 0);
    if (chdir("/") < 0) {
        die("/");
    }
    close_range(3, ~0u, 0);
    make_shared_memory_directory();
    listener = listen_on_socket();
    if (listener < 0) {
        die(SOCKET_PATH);
    }
    int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) {
        die("signalfd");
    }
    cut_off(); /* from here on nothing can be told to the host any more */
    connections_init();
    for (;;) {
        poll_count = 0;
        watch(signals, POLLIN, on_signal, NULL, signals);
        connections_watch();
        commands_watch();
        terminals_watch();
        drains_watch();
        /* Last, so that no event of this round can meet a slot's next user. */
        watch(listener, connections_count(NULL) < MAX_CONNECTIONS ? POLLIN : 0, accept_one, NULL, listener);
        if (poll(polls, poll_count, -1) < 0) {
            continue;
        }
        for (nfds_t i = 0; i < poll_count; i++) {
            if (polls[i].revents != 0) {
                watched[i].handler(watched[i].subject, watched[i].detail, polls[i].revents);
            }
        }
        commands_finish();
    }
}
