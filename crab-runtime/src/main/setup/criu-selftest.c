// SPDX-License-Identifier: Apache-2.0
/*
 * criu-selftest: does this CRIU work on this kernel?
 *
 *     criu-selftest CRIU DIR
 *
 * A version number does not answer that, and neither does "criu check": releases exist that pass the check and
 * yet cannot dump any TCP socket on a newer kernel, and others fail on a vDSO they do not know. So the answer is
 * found by doing it. In private pid, mount, net and ipc namespaces (process numbers and ports are free there by
 * construction, and no packet filter of the host is touched) a small tree is started, dumped with
 * --leave-running, asked whether it still lives, killed, restored and asked again; and then once more, because a
 * tree that was itself restored is what the second checkpoint of a session dumps.
 *
 *     holder (session leader)                         echo (leader of a second session)
 *       TCP listener on 127.0.0.1                       controlling terminal: the slave of the pty
 *       an established TCP connection to itself         reads lines, answers with its own secret
 *       listening unix socket with a path
 *       unix socket pair with bytes in flight
 *       pty master  ------------------------------->      another user, as a server's worker is
 *
 * Both keep a secret in memory that came from the kernel's random source, that no file and no argument holds, and
 * that counts the questions answered. A right answer after the restore therefore proves that the memory came
 * back and that nothing was silently started anew.
 *
 * Exit status: 0 works; 1 does not (one line on stderr says at which step, CRIU's logs stay in DIR);
 * 2 the test itself could not be carried out. Needs root and a mounted /proc.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define CYCLES 2
#define REPLY_MS 5000   /* how long a probe waits for its answer */
#define TOTAL_SECONDS 60 /* the whole test; CRIU has been seen to hang on kernels it does not know */
#define PORT 4711 /* in a private net namespace nobody else can hold it */
#define INSIDE "--in-private-namespaces"
#define IN_FLIGHT "in flight"
#define OTHER_USER 65534

enum { WORKS = 0, BROKEN = 1, IMPOSSIBLE = 2 };

struct secret {
	unsigned long long value;
	unsigned long long asked;
};

static void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

static void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("criu-selftest: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(status);
}

static void need(int ok, const char *what)
{
	if (!ok)
		die(IMPOSSIBLE, "%s: %s", what, strerror(errno));
}

static void fill(struct secret *secret)
{
	need(getrandom(&secret->value, sizeof(secret->value), 0) == sizeof(secret->value), "getrandom");
	secret->asked = 0;
}

/* Reads up to the first newline, which is dropped; -1 on timeout, end of file or error. */
static int read_line(int fd, char *line, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int ready = poll(&wait, 1, REPLY_MS);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0 || read(fd, line + used, 1) != 1)
			return -1;
		if (line[used] == '\n')
			break;
		used++;
	}
	line[used] = 0;
	return 0;
}

static struct sockaddr_un unix_address(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		die(IMPOSSIBLE, "the path of the test directory is too long: %s", path);
	strcpy(address.sun_path, path);
	return address;
}

/* ---- the tree ------------------------------------------------------------------------------------------ */

static void echo(const char *slave)
{
	struct secret secret;
	char question[64];
	int tty;

	need(setsid() > 0, "setsid");
	tty = open(slave, O_RDWR); /* the first terminal a session leader opens becomes its controlling one */
	need(tty >= 0, slave);
	for (int fd = 0; fd < 3; fd++)
		need(dup2(tty, fd) == fd, "dup2");
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	/* Not root any longer: root without CAP_SYS_RESOURCE may not ask for the limits of another user's process. */
	need((setgroups(0, NULL) == 0 && setresgid(OTHER_USER, OTHER_USER, OTHER_USER) == 0 &&
	      setresuid(OTHER_USER, OTHER_USER, OTHER_USER) == 0) || errno == EINVAL || errno == EPERM,
	     "another user"); /* a user namespace may have no other */
	fill(&secret);
	while (fgets(question, sizeof(question), stdin)) {
		printf("echo %llx %llu\n", secret.value, ++secret.asked);
		fflush(stdout);
	}
	_exit(0);
}

static int listen_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
		     bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 8) == 0,
	     "TCP listener");
	return fd;
}

static int connect_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int listen_unix(const char *path)
{
	struct sockaddr_un address = unix_address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	need(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 8) == 0,
	     "unix listener");
	return fd;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un address = unix_address(path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* One byte through the established connection, and a look at the bytes that wait in the unix pair. */
static int wires_carry(const int tcp[2], const int pair[2])
{
	char byte = 'x', waiting[sizeof(IN_FLIGHT)] = "";
	struct pollfd wait = { .fd = tcp[1], .events = POLLIN };

	return write(tcp[0], &byte, 1) == 1 && poll(&wait, 1, REPLY_MS) == 1 && read(tcp[1], &byte, 1) == 1 &&
	       recv(pair[1], waiting, sizeof(waiting), MSG_PEEK | MSG_DONTWAIT) == sizeof(waiting) &&
	       memcmp(waiting, IN_FLIGHT, sizeof(waiting)) == 0;
}

static void holder(const char *socket_path)
{
	struct secret secret;
	struct termios raw;
	struct pollfd doors[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int master, tcp[2], pair[2], null;
	char *slave;

	need(setsid() > 0 && chdir("/") == 0, "setsid");
	null = open("/dev/null", O_RDWR);
	need(null >= 0, "/dev/null");
	signal(SIGPIPE, SIG_IGN);
	master = posix_openpt(O_RDWR | O_NOCTTY);
	need(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 && (slave = ptsname(master)), "pty");
	/* Before anybody can write a line, or the terminal answers it with its echo. */
	need(tcgetattr(master, &raw) == 0, "tcgetattr");
	raw.c_lflag &= ~(ECHO | ECHONL);
	raw.c_oflag &= ~OPOST;
	need(tcsetattr(master, TCSANOW, &raw) == 0, "tcsetattr");
	doors[0].fd = listen_tcp();
	tcp[0] = connect_tcp();
	need(tcp[0] >= 0 && (tcp[1] = accept(doors[0].fd, NULL, NULL)) >= 0, "TCP connection");
	need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 &&
		     write(pair[0], IN_FLIGHT, sizeof(IN_FLIGHT)) == sizeof(IN_FLIGHT),
	     "unix socket pair");
	fill(&secret);
	switch (fork()) {
	case -1:
		die(IMPOSSIBLE, "fork: %s", strerror(errno));
	case 0:
		echo(slave);
	}
	doors[1].fd = listen_unix(socket_path); /* last: the tester takes it for "ready" */
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close(null);
	for (;;) {
		if (poll(doors, 2, -1) < 0)
			continue;
		for (int i = 0; i < 2; i++) {
			char question[64], answer[192], echoed[96];
			int peer;

			if (!(doors[i].revents & POLLIN) || (peer = accept(doors[i].fd, NULL, NULL)) < 0)
				continue;
			if (read_line(peer, question, sizeof(question)) == 0) {
				if (write(master, "?\n", 2) != 2 || read_line(master, echoed, sizeof(echoed)) != 0)
					strcpy(echoed, "echo is silent");
				int length = snprintf(answer, sizeof(answer), "holder %llx %llu %s wires %d\n",
						      secret.value, ++secret.asked, echoed, wires_carry(tcp, pair));
				if (write(peer, answer, length) != length)
					_exit(1);
			}
			close(peer);
		}
	}
}

/* ---- the tester ---------------------------------------------------------------------------------------- */

static struct secret expected_holder, expected_echo;

/* Asks over fd and compares with what was learnt at the first question. */
static void probe(int fd, const char *over, const char *when)
{
	struct secret holder, echo;
	char answer[192];
	int wires;

	if (fd < 0)
		die(BROKEN, "%s: cannot connect over %s: %s", when, over, strerror(errno));
	if (write(fd, "?\n", 2) != 2 || read_line(fd, answer, sizeof(answer)) != 0)
		die(BROKEN, "%s: no answer over %s", when, over);
	close(fd);
	if (sscanf(answer, "holder %llx %llu echo %llx %llu wires %d", &holder.value, &holder.asked, &echo.value,
		   &echo.asked, &wires) != 5)
		die(BROKEN, "%s: the pty is dead (answer over %s: %s)", when, over, answer);
	if (!wires)
		die(BROKEN, "%s: the established TCP connection or the unix socket pair is dead", when);
	if (expected_holder.asked == 0) {
		expected_holder.value = holder.value;
		expected_echo.value = echo.value;
	}
	expected_holder.asked++;
	expected_echo.asked++;
	if (memcmp(&holder, &expected_holder, sizeof(holder)) != 0 || memcmp(&echo, &expected_echo, sizeof(echo)) != 0)
		die(BROKEN, "%s: the memory is not what it was", when);
}

static void probe_all(const char *socket_path, const char *when)
{
	probe(connect_tcp(), "TCP", when);
	probe(connect_unix(socket_path), "the unix socket", when);
}

/* The options are those Crab uses on every dump, as far as the command line has them. */
static void criu(const char *path, const char *action, const char *images, pid_t tree)
{
	const char *argv[32];
	char pid[16], log[32], output[4096 + 32];
	int n = 0, status;
	pid_t child;

	snprintf(pid, sizeof(pid), "%d", tree);
	snprintf(log, sizeof(log), "%s.log", action);
	argv[n++] = path;
	argv[n++] = action;
	argv[n++] = "-D";
	argv[n++] = images;
	argv[n++] = "-o";
	argv[n++] = log;
	argv[n++] = "-v2";
	argv[n++] = "--manage-cgroups=ignore";
	argv[n++] = "--network-lock=skip";
	argv[n++] = "--tcp-established";
	argv[n++] = "--ext-unix-sk";
	argv[n++] = "--file-locks";
	argv[n++] = "--link-remap";
	argv[n++] = "--evasive-devices";
	if (tree > 0) {
		argv[n++] = "--leave-running";
		argv[n++] = "-t";
		argv[n++] = pid;
	} else {
		argv[n++] = "--restore-detached";
	}
	argv[n] = NULL;
	snprintf(output, sizeof(output), "%s/%s.out", images, action);
	child = fork();
	need(child >= 0, "fork");
	if (child == 0) {
		int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDONLY);

		need(fd >= 0 && null >= 0, output);
		dup2(null, 0);
		dup2(fd, 1);
		dup2(fd, 2);
		execv(path, (char *const *)argv);
		dprintf(2, "cannot run %s: %s\n", path, strerror(errno));
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		need(errno == EINTR, "waitpid");
	if (WIFSIGNALED(status))
		die(BROKEN, "criu %s died of signal %d (%s)", action, WTERMSIG(status), output);
	if (WEXITSTATUS(status) != 0)
		die(BROKEN, "criu %s failed with status %d (logs in %s)", action, WEXITSTATUS(status), images);
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	need(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0, "loopback interface");
	close(fd);
}

/* Process 1 of the private pid namespace: whatever happens to it, the kernel ends the whole tree with it. */
static void tester(const char *path, const char *directory)
{
	char socket_path[4096], images[4096], when[64];
	pid_t tree;
	int fd;

	for (fd = 3; fd < 1024; fd++)
		close(fd); /* whatever was inherited belongs to the mounts of the old namespace, too */
	need(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0, "mount /proc");
	loopback_up();
	snprintf(socket_path, sizeof(socket_path), "%s/holder.sock", directory);
	tree = fork();
	need(tree >= 0, "fork");
	if (tree == 0)
		holder(socket_path);
	for (int tries = 0; (fd = connect_unix(socket_path)) < 0; tries++) {
		if (tries == REPLY_MS / 10)
			die(IMPOSSIBLE, "the test tree did not start");
		usleep(10000);
	}
	probe(fd, "the unix socket", "before the first dump");
	for (int cycle = 1; cycle <= CYCLES; cycle++) {
		snprintf(images, sizeof(images), "%s/%d", directory, cycle);
		need(mkdir(images, 0700) == 0, images);
		criu(path, "dump", images, tree);
		snprintf(when, sizeof(when), "after dump %d", cycle);
		/* A tree that runs on after a dump answers, but what it counts from here on is not in the images. */
		struct secret holder = expected_holder, echo = expected_echo;
		probe_all(socket_path, when);
		expected_holder = holder;
		expected_echo = echo;
		kill(-1, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
			;
		if (connect_tcp() >= 0)
			die(IMPOSSIBLE, "the test tree outlived its own SIGKILL");
		unlink(socket_path); /* CRIU binds it anew, as in a restored snapshot taken before it existed */
		criu(path, "restore", images, 0);
		snprintf(when, sizeof(when), "after restore %d", cycle);
		if (kill(tree, 0) != 0)
			die(BROKEN, "%s: the tree did not get its process number back", when);
		probe_all(socket_path, when);
	}
	_exit(WORKS);
}

static volatile pid_t namespace_init;

static void give_up(int signal_number)
{
	(void)signal_number;
	kill(namespace_init, SIGKILL);
}

int main(int argc, char **argv)
{
	char directory[4096 - 64], self[4096] = "";
	int status;

	if (argc == 4 && strcmp(argv[3], INSIDE) == 0)
		tester(argv[1], argv[2]);
	if (argc != 3 || argv[1][0] != '/')
		die(IMPOSSIBLE, "usage: criu-selftest /path/of/criu EMPTY_DIRECTORY");
	need(realpath(argv[2], directory) != NULL && strlen(directory) < 80, "the test directory (short path wanted)");
	umask(077);
	need(unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) == 0, "private namespaces (root?)");
	need(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
	namespace_init = fork();
	need(namespace_init >= 0, "fork");
	if (namespace_init == 0) {
		/* Anew by its path: what is mapped now still belongs to the mounts of the old namespace, and CRIU
		   rightly refuses a tree whose program lies on a mount it cannot see. */
		need(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0, "/proc/self/exe");
		execl(self, self, argv[1], directory, INSIDE, NULL);
		die(IMPOSSIBLE, "%s: %s", self, strerror(errno));
	}
	signal(SIGALRM, give_up);
	signal(SIGTERM, give_up);
	signal(SIGINT, give_up);
	alarm(TOTAL_SECONDS);
	while (waitpid(namespace_init, &status, 0) < 0)
		need(errno == EINTR, "waitpid");
	if (WIFSIGNALED(status))
		die(BROKEN, "ended by signal %d: CRIU hung for %d s, or the test was interrupted", WTERMSIG(status),
		    TOTAL_SECONDS);
	return WEXITSTATUS(status);
}
