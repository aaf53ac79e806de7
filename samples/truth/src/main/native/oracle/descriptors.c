/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process holds open: where each descriptor leads, its offset, flags and locks, and what is queued in it. Descriptors of pipes,
 * sockets, terminals, memory files, deleted files and watchers of files are taken over for that (pidfd_getfd), which the process does not
 * notice; nothing is taken out of them.
 */
#include "oracle.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

/* Expirations that nobody has fetched yet, and the time left, flow by themselves. */
static bool flows(const char *line)
{
	return !strncmp(line, "it_value:", 9) || !strncmp(line, "ticks:", 6) || !strncmp(line, "eventfd-id:", 11);
}

static void put_info(pid_t pid, const char *number)
{
	char path[320], *text, *rest, *line;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, number);
	rest = text = slurp(path, NULL);
	while (text && (line = strsep(&rest, "\n")) && *line) {
		if (!flows(line)) {
			putchar(' ');
			put_text(line, strlen(line));
		}
	}
	free(text);
}

static void put_count(int fd)
{
	int count = 0;

	if (!ioctl(fd, FIONREAD, &count))
		printf(" queued=%d", count);
}

/* What is in a pipe is looked at by tee(2), which leaves it there. */
static void put_pipe(int fd)
{
	static char data[1 << 16];
	int copy[2];
	ssize_t got;

	put_count(fd);
	printf(" room=%d", fcntl(fd, F_GETPIPE_SZ));
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY || pipe2(copy, O_CLOEXEC | O_NONBLOCK))
		return;
	got = tee(fd, copy[1], sizeof(data), SPLICE_F_NONBLOCK);
	if (got > 0 && (got = read(copy[0], data, sizeof(data))) > 0)
		printf(" data=%016llx", (unsigned long long)hash(0, data, got));
	close(copy[0]);
	close(copy[1]);
}

static void put_socket(int fd)
{
	static char data[1 << 16];
	int listens = 0;
	socklen_t size = sizeof(listens);
	struct pollfd state = {.fd = fd, .events = POLLIN | POLLRDHUP};
	ssize_t got;

	put_count(fd);
	if (poll(&state, 1, 0) >= 0)
		printf(" events=%x", state.revents);
	/* A pending error is told once, and then gone: whoever looks at the data of such a socket has changed it. */
	if (state.revents & POLLERR)
		return;
	if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && !listens) {
		got = recv(fd, data, sizeof(data), MSG_PEEK | MSG_DONTWAIT);
		if (got > 0)
			printf(" data=%016llx", (unsigned long long)hash(0, data, got));
	}
}

static void put_terminal(int fd)
{
	struct termios modes;
	struct winsize size;

	put_count(fd);
	if (!tcgetattr(fd, &modes))
		printf(" modes=%016llx", (unsigned long long)hash(0, &modes, offsetof(struct termios, c_cc) + sizeof(modes.c_cc)));
	if (!ioctl(fd, TIOCGWINSZ, &size))
		printf(" window=%ux%u", size.ws_col, size.ws_row);
}

static void put_inside(int pidfd, int number, const char *target)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(target);
	bool unnamed = length > sizeof(deleted) && !strcmp(target + length - sizeof(deleted) + 1, deleted);
	struct stat st;
	int fd = syscall(SYS_pidfd_getfd, pidfd, number, 0);

	if (fd < 0)
		return;
	if (!fstat(fd, &st)) {
		printf(" inode=%llu", (unsigned long long)st.st_ino);
		if (S_ISFIFO(st.st_mode))
			put_pipe(fd);
		else if (S_ISSOCK(st.st_mode)) {
			saw_socket(st.st_ino);
			put_socket(fd);
		} else if (S_ISCHR(st.st_mode) && (!strncmp(target, "/dev/pts/", 9) || strstr(target, "ptmx")))
			put_terminal(fd);
		else if (S_ISREG(st.st_mode) && (unnamed || !strncmp(target, "/memfd:", 7)))
			/* in no snapshot: the dump is all there is of it */
			printf(" mode=%o uid=%u size=%lld seals=%d content=%016llx", st.st_mode, st.st_uid, (long long)st.st_size,
			       fcntl(fd, F_GET_SEALS), (unsigned long long)hash_fd(fd));
		else if (strstr(target, "notify"))
			put_count(fd);
	}
	close(fd);
}

void put_descriptors(pid_t pid, int inner)
{
	char path[64], link[320], target[PATH_MAX];
	int pidfd = syscall(SYS_pidfd_open, pid, 0);
	struct dirent *entry;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	list = opendir(path);
	while (list && (entry = readdir(list))) {
		ssize_t size;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
		size = readlink(link, target, sizeof(target) - 1);
		target[size < 0 ? 0 : size] = 0;
		put_key("process %d fd %s", inner, entry->d_name);
		put_text(target, strlen(target));
		put_info(pid, entry->d_name);
		put_inside(pidfd, atoi(entry->d_name), target);
		putchar('\n');
	}
	if (list)
		closedir(list);
	close(pidfd);
}
