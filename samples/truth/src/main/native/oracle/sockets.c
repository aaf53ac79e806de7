/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's tables of sockets, for those that processes hold: states, addresses, and how many connections wait to be accepted.
 * Connections that no process holds (time-wait, or one end gone) are not state: they end by themselves.
 */
#include "oracle.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t *seen;
static size_t seen_count, seen_room;

void saw_socket(uint64_t inode)
{
	if (seen_count == seen_room)
		seen = realloc(seen, (seen_room = seen_room * 2 + 64) * sizeof(*seen));
	seen[seen_count++] = inode;
}

static bool is_seen(uint64_t inode)
{
	for (size_t i = 0; i < seen_count; i++)
		if (seen[i] == inode)
			return true;
	return false;
}

/* Lines of /proc/net/{tcp,udp,raw}{,6}: number, local, remote, state, tx:rx, timer, retransmits, uid, timeout, inode. */
static void put_table(const char *name)
{
	char path[64], *text, *rest, *line;

	snprintf(path, sizeof(path), "/proc/thread-self/net/%s", name);
	rest = text = slurp(path, NULL);
	strsep(&rest, "\n");
	while (rest && (line = strsep(&rest, "\n")) && *line) {
		char local[64], remote[64], state[8], queues[32];
		unsigned long long inode;

		if (sscanf(line, " %*s %63s %63s %7s %31s %*s %*s %*s %*s %llu", local, remote, state, queues, &inode) == 5 &&
		    is_seen(inode)) {
			put_key("process socket %llu", inode);
			printf("%s %s %s state=%s queues=%s\n", name, local, remote, state, queues);
		}
	}
	free(text);
}

static void put_unix(const struct unix_diag_msg *message, size_t size)
{
	int left = size - NLMSG_ALIGN(sizeof(*message));

	if (!is_seen(message->udiag_ino))
		return;
	put_key("process socket %u", message->udiag_ino);
	printf("unix type=%u state=%u", message->udiag_type, message->udiag_state);
	for (struct rtattr *a = (struct rtattr *)(message + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == UNIX_DIAG_RQLEN) {
			const struct unix_diag_rqlen *queue = RTA_DATA(a);

			printf(" waiting=%u", queue->udiag_rqueue);
		} else if (a->rta_type == UNIX_DIAG_PEER) {
			printf(" peer=%u", *(uint32_t *)RTA_DATA(a));
		} else if (a->rta_type == UNIX_DIAG_NAME) {
			fputs(" name=", stdout);
			put_text(RTA_DATA(a), RTA_PAYLOAD(a));
		} else if (a->rta_type == UNIX_DIAG_SHUTDOWN) {
			printf(" shutdown=%u", *(uint8_t *)RTA_DATA(a));
		}
	}
	putchar('\n');
}

static void put_unix_sockets(void)
{
	static char buffer[1 << 16];
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} message = {
		.header = {.nlmsg_len = sizeof(message), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.request = {.sdiag_family = AF_UNIX, .udiag_states = -1U, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN},
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0 || send(fd, &message, sizeof(message), 0) < 0)
		die("sock_diag");
	for (bool more = true; more;) {
		ssize_t got = recv(fd, buffer, sizeof(buffer), 0);

		if (got <= 0)
			die("sock_diag");
		for (struct nlmsghdr *h = (struct nlmsghdr *)buffer; NLMSG_OK(h, got); h = NLMSG_NEXT(h, got)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				more = false;
				break;
			}
			put_unix(NLMSG_DATA(h), NLMSG_PAYLOAD(h, 0));
		}
	}
	close(fd);
}

void put_sockets(void)
{
	static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6", "raw", "raw6", "icmp"};

	for (size_t i = 0; seen_count && i < sizeof(tables) / sizeof(*tables); i++)
		put_table(tables[i]);
	if (seen_count)
		put_unix_sockets();
	seen_count = 0;
}
