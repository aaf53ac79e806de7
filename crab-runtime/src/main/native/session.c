/* Ending a command with all that belongs to its session. */
#include "init.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSION_ROUNDS 32

static bool in_session(const char *name, pid_t session) {
    char path[300], stat[512];
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, stat, sizeof stat - 1);
    close(fd);
    if (got <= 0) {
        return false;
    }
    stat[got] = 0;
    char state;
    int parent, group, found;
    const char *after_name = strrchr(stat, ')');
    return after_name != NULL && sscanf(after_name + 1, " %c %d %d %d", &state, &parent, &group, &found) == 4
        && found == session && state != 'Z' && state != 'X';
}

/* The group at one blow (the kernel lets no fork slip through), then whoever left it but not the session. */
void kill_session(pid_t leader) {
    kill(-leader, SIGKILL);
    for (int round = 0; round < SESSION_ROUNDS; round++) {
        DIR *proc = opendir("/proc");
        bool found = false;
        if (proc == NULL) {
            return;
        }
        for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
            if (entry->d_name[0] > '0' && entry->d_name[0] <= '9' && in_session(entry->d_name, leader)) {
                pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
                if (pid > 1 && kill(pid, SIGKILL) == 0 && pid != leader) {
                    found = true;
                }
            }
        }
        closedir(proc);
        if (!found) {
            return;
        }
    }
}
