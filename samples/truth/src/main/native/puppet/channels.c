/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on sockets and terminals; those with a slot are for survivors. */
#include "puppet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static struct sockaddr_in loopback(const char *port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(number(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static struct sockaddr_un local(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static long held(const char *word, int fd)
{
	if (fd < 0)
		return -1;
	slots[slot(word)] = fd;
	return fd;
}

/* udp SLOT PORT, tcp SLOT PORT, unix SLOT PATH, unix-dgram SLOT PATH: bound, and listening where that can be */
static long op_udp(char **w)
{
	struct sockaddr_in address = loopback(w[1]);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	return bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : held(w[0], fd);
}

static long op_tcp(char **w)
{
	struct sockaddr_in address = loopback(w[1]);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 8) ? -1 : held(w[0], fd);
}

static long op_unix(char **w)
{
	struct sockaddr_un address = local(w[1]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	return bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 8) ? -1 : held(w[0], fd);
}

static long op_unix_dgram(char **w)
{
	struct sockaddr_un address = local(w[1]);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	return bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : held(w[0], fd);
}

static long op_raw(char **w) { return held(w[0], socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_UDP)); }

/* pair SLOT OTHER: a socket pair; pipe SLOT OTHER */
static long op_pair(char **w)
{
	int ends[2];

	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) ? -1 : held(w[0], ends[0]) + held(w[1], ends[1]);
}

static long op_pipe(char **w)
{
	int ends[2];

	return pipe2(ends, O_NONBLOCK) ? -1 : held(w[0], ends[0]) + held(w[1], ends[1]);
}

static long op_accept(char **w) { return held(w[0], accept4(slots[slot(w[1])], NULL, NULL, SOCK_NONBLOCK)); }
static long op_connect(char **w)
{
	struct sockaddr_in address = loopback(w[1]);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : held(w[0], fd);
}

static long op_shutdown(char **w) { return shutdown(slots[slot(w[0])], number(w[1])); }
static long op_bindfile(char **w)
{
	struct sockaddr_un address = local(w[0]);

	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address));
}

/* send-udp PORT TEXT, send-unix PATH TEXT, send-tcp PORT TEXT, send-stream PATH TEXT: from a socket that ends with the turn */
static long op_send_udp(char **w)
{
	struct sockaddr_in address = loopback(w[0]);

	return sendto(socket(AF_INET, SOCK_DGRAM, 0), w[1], strlen(w[1]), 0, (struct sockaddr *)&address, sizeof(address));
}

static long op_send_mmsg(char **w)
{
	struct sockaddr_in address = loopback(w[0]);
	struct iovec part = {w[1], strlen(w[1])};
	struct mmsghdr messages[2] = {0};

	for (int i = 0; i < 2; i++)
		messages[i].msg_hdr = (struct msghdr){.msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = &part, .msg_iovlen = 1};
	return sendmmsg(socket(AF_INET, SOCK_DGRAM, 0), messages, 2, 0);
}

static long op_send_unix(char **w)
{
	struct sockaddr_un address = local(w[0]);

	return sendto(socket(AF_UNIX, SOCK_DGRAM, 0), w[1], strlen(w[1]), MSG_DONTWAIT, (struct sockaddr *)&address, sizeof(address));
}

static long op_send_tcp(char **w)
{
	struct sockaddr_in address = loopback(w[0]);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : write(fd, w[1], strlen(w[1]));
}

static long op_send_stream(char **w)
{
	struct sockaddr_un address = local(w[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : write(fd, w[1], strlen(w[1]));
}

/* send-fd PATH FILE: a descriptor of the file, to a datagram socket */
static long op_send_fd(char **w)
{
	struct sockaddr_un address = local(w[0]);
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {"f", 1};
	struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = &part, .msg_iovlen = 1,
				 .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int file = open(w[1], O_RDWR);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &file, sizeof(file));
	return sendmsg(socket(AF_UNIX, SOCK_DGRAM, 0), &message, MSG_DONTWAIT);
}

/* A server, a client and what they say, all within the turn. */
static long op_talk(char **w)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), connection;
	char answer[8];

	(void)w;
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size))
		return -1;
	if (fork() == 0) {
		int client = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(client, (struct sockaddr *)&address, size) || write(client, "ping", 4) != 4)
			_exit(1);
		_exit(0);
	}
	connection = accept(listener, NULL, NULL);
	if (read(connection, answer, sizeof(answer)) != 4)
		return -1;
	return wait(NULL);
}

/* pty SLOT: the master of a new terminal; type PTS TEXT, raw-mode PTS: on a slave by its path */
static long op_pty(char **w)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);

	return grantpt(fd) || unlockpt(fd) ? -1 : held(w[0], fd);
}

static long op_raw_mode(char **w)
{
	struct termios modes;
	int fd = open(w[0], O_RDWR | O_NOCTTY | O_NONBLOCK);

	if (tcgetattr(fd, &modes))
		return -1;
	cfmakeraw(&modes);
	return tcsetattr(fd, TCSANOW, &modes);
}

static long op_window(char **w)
{
	struct winsize size = {.ws_col = number(w[1]), .ws_row = 10};

	return ioctl(open(w[0], O_RDWR | O_NOCTTY | O_NONBLOCK), TIOCSWINSZ, &size);
}

const struct operation channel_operations[] = {
	{"udp", 2, op_udp},	    {"tcp", 2, op_tcp},		  {"unix", 2, op_unix},	      {"unix-dgram", 2, op_unix_dgram},
	{"raw", 1, op_raw},	    {"pair", 2, op_pair},	  {"pipe", 2, op_pipe},	      {"accept", 2, op_accept},
	{"connect", 2, op_connect}, {"shutdown", 2, op_shutdown}, {"bindfile", 1, op_bindfile}, {"send-udp", 2, op_send_udp},
	{"send-mmsg", 2, op_send_mmsg}, {"send-unix", 2, op_send_unix}, {"send-tcp", 2, op_send_tcp}, {"send-stream", 2, op_send_stream},
	{"send-fd", 2, op_send_fd}, {"talk", 0, op_talk},	  {"pty", 1, op_pty},	      {"raw-mode", 1, op_raw_mode},
	{"window", 2, op_window},   {NULL, 0, NULL},
};
