#include "init.h"

#include <errno.h>
#include <unistd.h>

static int drains[MAX_DRAINS];
static size_t count;

bool drains_have_room(void) { return count + STREAMS * (commands_count() + 1) < MAX_DRAINS; }

void drain_add(int fd) {
    if (count < MAX_DRAINS) {
        drains[count++] = fd;
    } else {
        close(fd); /* not reached: no command starts without room for its pipes */
    }
}

static void drain(void *subject, int fd, short events) {
    static char nowhere[65536];
    (void)subject;
    (void)events;
    for (size_t i = 0; i < count; i++) {
        if (drains[i] != fd) {
            continue;
        }
        ssize_t got = read(fd, nowhere, sizeof nowhere);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            drains[i] = drains[--count];
            close(fd);
        }
        return;
    }
}

void drains_watch(void) {
    for (size_t i = 0; i < count; i++) {
        watch(drains[i], POLLIN, drain, NULL, drains[i]);
    }
}
