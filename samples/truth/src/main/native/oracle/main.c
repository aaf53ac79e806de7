/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crab-oracle CGROUP INIT-PID UPPER LOWER: for each line on standard input, prints the sandbox's state and then a line with a single dot.
 * The sandbox must be frozen meanwhile. Runs on the host as root, in the sandbox's network, IPC and UTS namespaces.
 */
#include "oracle.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void join(pid_t init, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", init, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, 0))
		die(path);
	close(fd);
}

static void put_mounts(pid_t init)
{
	char path[64], *text, *rest, *line;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", init);
	rest = text = slurp(path, NULL);
	if (!text)
		die(path);
	while ((line = strsep(&rest, "\n")) && *line) {
		put_key("mount %d", atoi(line));
		put_text(line, strlen(line));
		putchar('\n');
	}
	free(text);
}

static void put_host(void)
{
	struct utsname name;

	uname(&name);
	put_key("host name");
	put_text(name.nodename, strlen(name.nodename));
	putchar(' ');
	put_text(name.domainname, strlen(name.domainname));
	putchar('\n');
}

int main(int argc, char **argv)
{
	static char out[1 << 20];
	struct target target;
	char *line = NULL;
	size_t room = 0;

	if (argc != 5) {
		fprintf(stderr, "usage: crab-oracle CGROUP INIT-PID UPPER LOWER\n");
		return 2;
	}
	target.cgroup = argv[1];
	target.init = atoi(argv[2]);
	target.upper = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	target.lower = open(argv[4], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target.upper < 0 || target.lower < 0)
		die("the layers");
	join(target.init, "net");
	join(target.init, "ipc");
	join(target.init, "uts");
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	while (getline(&line, &room, stdin) > 0) {
		put_files(&target);
		put_processes(&target);
		put_sockets();
		put_ipc();
		put_mounts(target.init);
		put_host();
		puts(".");
		fflush(stdout);
	}
	return 0;
}
