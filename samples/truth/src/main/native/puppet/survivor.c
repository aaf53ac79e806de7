/* SPDX-License-Identifier: Apache-2.0 */
/* Survivors: how they are made, told and found, and what only they can do, since it needs a process that stays. */
#include "puppet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

static char memory[1 << 16];

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	return offsetof(struct sockaddr_un, sun_path) + 1 + snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "crab-%s", name);
}

/* Performs what it is told, one after the other; wipes what telling alone leaves behind. */
static void serve(int control)
{
	static char operation[1024];
	static struct sockaddr_un teller;

	for (;;) {
		socklen_t size = sizeof(teller);
		ssize_t got = recvfrom(control, operation, sizeof(operation) - 1, 0, (struct sockaddr *)&teller, &size);
		int answer;

		if (got < 0)
			continue;
		operation[got] = 0;
		answer = perform(operation) ? errno : 0;
		memset(operation, 0, sizeof(operation));
		sendto(control, &answer, sizeof(answer), 0, (struct sockaddr *)&teller, size);
		memset(&teller, 0, sizeof(teller));
		errno = 0;
	}
}

long spawn(char **words)
{
	char name[16];
	int ready[2], null, control;
	struct sockaddr_un address;
	pid_t child;

	if (pipe(ready) || (child = fork()) < 0)
		return -1;
	if (child > 0) {
		close(ready[1]);
		return read(ready[0], name, 1) == 1 ? close(ready[0]) : -1;
	}
	setsid();
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close(null);
	snprintf(name, sizeof(name), "crab-%s", words[0]);
	prctl(PR_SET_NAME, name);
	control = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (bind(control, (struct sockaddr *)&address, address_of(words[0], &address)))
		_exit(1);
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	close(ready[0]);
	close(ready[1]);
	serve(control);
	return 0;
}

int tell(const char *name, const char *operation)
{
	struct sockaddr_un address, own = {.sun_family = AF_UNIX};
	socklen_t size = address_of(name, &address);
	int control = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), answer = -1;
	struct timeval patience = {.tv_usec = 100000}; /* a stopped survivor does not answer, but does it later */

	setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (bind(control, (struct sockaddr *)&own, sizeof(sa_family_t)) ||
	    sendto(control, operation, strlen(operation), 0, (struct sockaddr *)&address, size) < 0)
		return -1;
	if (!strncmp(operation, "exit", 4))
		return close(control);
	if (recv(control, &answer, sizeof(answer), 0) != sizeof(answer))
		return -1;
	close(control);
	errno = answer;
	return answer ? -1 : 0;
}

pid_t pid_of(const char *name)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	pid_t found = -1;

	while (processes && found < 0 && (entry = readdir(processes))) {
		char path[300], comm[32] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
			continue;
		if (read(fd, comm, sizeof(comm) - 1) > 6 && !strncmp(comm, "crab-", 5)) {
			comm[strcspn(comm, "\n")] = 0;
			if (!strcmp(comm + 5, name))
				found = atoi(entry->d_name);
		}
		close(fd);
	}
	if (processes)
		closedir(processes);
	if (found < 0)
		errno = ESRCH;
	return found;
}

static long keep(const char *word, int fd)
{
	int old = slots[slot(word)];

	if (fd < 0)
		return -1;
	if (old >= 0)
		close(old);
	slots[slot(word)] = fd;
	return fd;
}

/* hold SLOT PATH r|w|a|d|t */
static long op_hold(char **w)
{
	int flags = w[2][0] == 'w' ? O_RDWR : w[2][0] == 'a' ? O_WRONLY | O_APPEND | O_CREAT : w[2][0] == 't' ? O_TMPFILE | O_RDWR : O_RDONLY;

	return keep(w[0], open(w[1], flags | O_NONBLOCK, 0644));
}

static long op_release(char **w)
{
	int fd = slots[slot(w[0])];

	slots[slot(w[0])] = -1;
	return close(fd);
}

static long op_say(char **w) { return write(slots[slot(w[0])], w[1], strlen(w[1])); }
static long op_hear(char **w)
{
	char data[256];
	long got = read(slots[slot(w[0])], data, (size_t)number(w[1]) % sizeof(data));

	memset(data, 0, sizeof(data));
	return got;
}

/* send-file SLOT PATH SIZE: the file's pages, and no copy of them */
static long op_send_file(char **w)
{
	int fd = open(w[1], O_RDONLY | O_NONBLOCK);
	long sent = sendfile(slots[slot(w[0])], fd, NULL, number(w[2]));

	close(fd);
	return sent;
}

static long op_seek(char **w) { return lseek(slots[slot(w[0])], number(w[1]), SEEK_SET); }
static long op_flags(char **w) { return fcntl(slots[slot(w[0])], F_SETFL, (int)number(w[1])); }
static long op_flock(char **w) { return flock(slots[slot(w[0])], number(w[1]) | LOCK_NB); }
static long op_posix_lock(char **w)
{
	struct flock lock = {.l_type = number(w[1]), .l_whence = SEEK_SET, .l_len = 8};

	return fcntl(slots[slot(w[0])], F_SETLK, &lock);
}

static long op_ofd_lock(char **w)
{
	struct flock lock = {.l_type = number(w[1]), .l_whence = SEEK_SET, .l_len = 8};

	return fcntl(slots[slot(w[0])], F_OFD_SETLK, &lock);
}

/* map SLOT PATH shared|private; the descriptor is closed at once */
static long op_map(char **w)
{
	int fd = open(w[1], O_RDWR | O_NONBLOCK);
	char *address = mmap(NULL, 4096, PROT_READ | PROT_WRITE, w[2][0] == 's' ? MAP_SHARED : MAP_PRIVATE, fd, 0);

	close(fd);
	if (address == MAP_FAILED)
		return -1;
	mappings[slot(w[0])] = (struct mapping){address, 4096};
	return 0;
}

static long op_poke(char **w)
{
	struct mapping *mapping = &mappings[slot(w[0])];

	if (!mapping->address)
		return -1;
	mapping->address[number(w[1]) & 4095] = *w[2];
	return 0;
}

static long op_unmap(char **w)
{
	struct mapping *mapping = &mappings[slot(w[0])];
	long result = mapping->address ? munmap(mapping->address, mapping->size) : -1;

	mapping->address = NULL;
	return result;
}

static long op_anon(char **w)
{
	char *address = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (w[1][0] == 's' ? MAP_SHARED : MAP_PRIVATE), -1, 0);

	mappings[slot(w[0])] = (struct mapping){address, 4096};
	return address == MAP_FAILED ? -1 : 0;
}

static long op_mem(char **w)
{
	memory[number(w[0]) & 0xffff] = *w[1] == '0' ? 0 : *w[1];
	return 0;
}

static long op_memfd(char **w)
{
	int fd = memfd_create("state", MFD_ALLOW_SEALING);

	return ftruncate(fd, 4096) ? -1 : keep(w[0], fd);
}

static long op_eventfd(char **w) { return keep(w[0], eventfd(0, EFD_NONBLOCK)); }
static long op_signal_eventfd(char **w) { return eventfd_write(slots[slot(w[0])], number(w[1])); }
static long op_timerfd(char **w)
{
	struct itimerspec once = {.it_value.tv_sec = number(w[1])};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	return timerfd_settime(fd, 0, &once, NULL) ? -1 : keep(w[0], fd);
}

static long op_watch(char **w)
{
	int fd = inotify_init1(IN_NONBLOCK);

	return inotify_add_watch(fd, w[1], number(w[2])) < 0 ? -1 : keep(w[0], fd);
}

static long op_cwd(char **w) { return chdir(w[0]); }
static long op_block(char **w)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number(w[0]));
	return sigprocmask(SIG_BLOCK, &set, NULL);
}

static long op_unblock(char **w)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number(w[0]));
	return sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static long op_ignore(char **w) { return signal(number(w[0]), SIG_IGN) == SIG_ERR ? -1 : 0; }
static long op_umask(char **w)
{
	umask(strtol(w[0], NULL, 8));
	return 0;
}

static long op_name(char **w) { return prctl(PR_SET_NAME, w[0]); }
static long op_exit(char **w) { _exit(number(w[0])); }

const struct operation survivor_operations[] = {
	{"spawn", 1, spawn},	       {"hold", 3, op_hold},	   {"release", 1, op_release}, {"say", 2, op_say},
	{"hear", 2, op_hear},	       {"send-file", 3, op_send_file},	       {"seek", 2, op_seek},	   {"flags", 2, op_flags},     {"flock", 2, op_flock},
	{"posix-lock", 2, op_posix_lock}, {"ofd-lock", 2, op_ofd_lock}, {"map", 3, op_map},	       {"poke", 3, op_poke},
	{"unmap", 1, op_unmap},	       {"anon", 2, op_anon},	   {"mem", 2, op_mem},	       {"memfd", 1, op_memfd},
	{"eventfd", 1, op_eventfd},    {"signal-eventfd", 2, op_signal_eventfd}, {"timerfd", 2, op_timerfd}, {"watch", 3, op_watch},
	{"cwd", 1, op_cwd},	       {"block", 1, op_block},	   {"unblock", 1, op_unblock}, {"ignore", 1, op_ignore},
	{"umask", 1, op_umask},	       {"name", 1, op_name},	   {"exit", 1, op_exit},       {NULL, 0, NULL},
};
