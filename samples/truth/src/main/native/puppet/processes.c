/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on other processes, found by the name that "spawn" gave them; and System V IPC. */
#include "puppet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static long op_child(char **w)
{
	pid_t child = fork();

	(void)w;
	if (child == 0)
		_exit(0);
	return waitpid(child, NULL, 0);
}

static long op_kill(char **w)
{
	pid_t pid = pid_of(w[0]);
	int signal = number(w[1]);

	if (pid < 0 || kill(pid, signal))
		return -1;
	while (signal == SIGKILL && !kill(pid, 0)) /* its death is the turn's, and not the next one's */
		sched_yield();
	return 0;
}

static long op_tgkill(char **w)
{
	pid_t pid = pid_of(w[0]);

	return pid < 0 ? -1 : syscall(SYS_tgkill, pid, pid, (int)number(w[1]));
}

static long op_pidfd_signal(char **w)
{
	int fd = syscall(SYS_pidfd_open, pid_of(w[0]), 0);

	return syscall(SYS_pidfd_send_signal, fd, (int)number(w[1]), NULL, 0);
}

static long op_sigqueue(char **w)
{
	union sigval value = {.sival_int = number(w[2])};
	pid_t pid = pid_of(w[0]);

	return pid < 0 ? -1 : sigqueue(pid, number(w[1]), value);
}

static long op_limit(char **w)
{
	struct rlimit limit = {number(w[1]), number(w[1])};
	pid_t pid = pid_of(w[0]);

	return pid < 0 ? -1 : prlimit(pid, RLIMIT_NOFILE, &limit, NULL);
}

static long op_nice(char **w)
{
	pid_t pid = pid_of(w[0]);

	return pid < 0 ? -1 : setpriority(PRIO_PROCESS, pid, number(w[1]));
}

static long op_batch(char **w)
{
	struct sched_param parameters = {0};
	pid_t pid = pid_of(w[0]);

	return pid < 0 ? -1 : sched_setscheduler(pid, SCHED_BATCH, &parameters);
}

static long op_affinity(char **w)
{
	unsigned long mask = number(w[1]);
	pid_t pid = pid_of(w[0]);

	return pid < 0 ? -1 : syscall(SYS_sched_setaffinity, pid, sizeof(mask), &mask);
}

static long op_io_priority(char **w)
{
	pid_t pid = pid_of(w[0]);

	return pid < 0 ? -1 : syscall(SYS_ioprio_set, 1, pid, (2 << 13) | (int)number(w[1]));
}

/* proc NAME FILE TEXT: writes to a file below /proc/PID */
static long op_proc(char **w)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid_of(w[0]), w[1]);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	return write(fd, w[2], strlen(w[2]));
}

/* proc-truncate NAME FILE SIZE: truncate(2) by a path below /proc/PID */
static long op_proc_truncate(char **w)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid_of(w[0]), w[1]);
	return truncate(path, number(w[2]));
}

/* proc-mmap NAME FILE CHAR: through a shared mapping of a file below /proc/PID */
static long op_proc_mmap(char **w)
{
	char path[128], *address;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid_of(w[0]), w[1]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	address = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (address == MAP_FAILED)
		return -1;
	*address = *w[2];
	return 0;
}

static long stack_of(pid_t pid)
{
	char path[64], line[512];
	long start = -1;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]"))
			start = strtol(line, NULL, 16);
	if (maps)
		fclose(maps);
	return start;
}

static long op_write_vm(char **w)
{
	pid_t pid = pid_of(w[0]);
	struct iovec local = {w[1], 1}, remote = {(void *)stack_of(pid), 1};

	return process_vm_writev(pid, &local, 1, &remote, 1, 0);
}

static long op_write_mem(char **w)
{
	char path[64];
	pid_t pid = pid_of(w[0]);
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return pwrite(fd, w[1], 1, stack_of(pid));
}

/* poke-text by ptrace: stops, changes a word of its stack, lets it go */
static long op_ptrace(char **w)
{
	pid_t pid = pid_of(w[0]);

	if (pid < 0 || ptrace(PTRACE_ATTACH, pid, NULL, NULL))
		return -1;
	waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_POKEDATA, pid, (void *)stack_of(pid), (void *)number(w[1]));
	return ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static long op_seize(char **w)
{
	pid_t pid = pid_of(w[0]);

	return pid < 0 ? -1 : ptrace(PTRACE_SEIZE, pid, NULL, NULL);
}

static long op_self(char **w)
{
	(void)w;
	prctl(PR_SET_NAME, "other");
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_TIMERSLACK, 1000);
	setpriority(PRIO_PROCESS, 0, 3);
	umask(077);
	alarm(100);
	return chdir("/");
}

static long op_refused(char **w)
{
	(void)w;
	if (!unshare(CLONE_NEWNS) || !syscall(SYS_mount, "x", "/mnt", "tmpfs", 0, NULL) || !sethostname("other", 5) || !chroot("/nowhere"))
		return 0;
	return syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0);
}

/* A number that no kernel knows, and one that this kernel knows but hardly anybody calls. */
static long op_unlisted(char **w) { return syscall(number(w[0]), 3, 0, 0); }

static long op_aio(char **w)
{
	aio_context_t context = 0;
	int fd = open(w[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	struct iocb block = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = fd, .aio_buf = (unsigned long)w[1], .aio_nbytes = 1};
	struct iocb *list[1] = {&block};
	struct io_event event;

	if (syscall(SYS_io_setup, 1, &context) || syscall(SYS_io_submit, context, 1, list) != 1)
		return -1;
	return syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
}

/* int 0x80, i386's unlink: the path has to lie below 4 GiB. */
static long op_int80_unlink(char **w)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long result;

	snprintf(low, 4096, "%s", w[0]);
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(10L), "b"(low) : "memory", "r8", "r9", "r10", "r11");
	errno = result < 0 ? -result : 0;
	return result < 0 ? -1 : 0;
}

static long op_shmget(char **w) { return shmget(number(w[0]), 4096, IPC_CREAT | 0600); }
static long op_shmput(char **w)
{
	char *address = shmat(shmget(number(w[0]), 4096, 0600), NULL, 0);

	if (address == (char *)-1)
		return -1;
	*address = *w[1];
	return shmdt(address);
}

/* shmmap SLOT KEY: stays attached */
static long op_shmmap(char **w)
{
	char *address = shmat(shmget(number(w[1]), 4096, 0600), NULL, 0);

	mappings[slot(w[0])] = (struct mapping){address, 4096};
	return address == (char *)-1 ? -1 : 0;
}

static long op_shmrm(char **w) { return shmctl(shmget(number(w[0]), 0, 0), IPC_RMID, NULL); }
static long op_semget(char **w) { return semget(number(w[0]), 2, IPC_CREAT | 0600); }
static long op_semop(char **w)
{
	struct sembuf change = {.sem_op = number(w[1]), .sem_flg = IPC_NOWAIT};

	return semop(semget(number(w[0]), 0, 0), &change, 1);
}

static long op_semrm(char **w) { return semctl(semget(number(w[0]), 0, 0), 0, IPC_RMID); }
static long op_msgget(char **w) { return msgget(number(w[0]), IPC_CREAT | 0600); }
static long op_msgput(char **w)
{
	struct {
		long type;
		char text[4];
	} message = {1, "abc"};

	return msgsnd(msgget(number(w[0]), 0), &message, sizeof(message.text), IPC_NOWAIT);
}

static long op_msgtake(char **w)
{
	char data[64];

	return msgrcv(msgget(number(w[0]), 0), data, 16, 0, IPC_NOWAIT);
}

static long op_msgrm(char **w) { return msgctl(msgget(number(w[0]), 0), IPC_RMID, NULL); }

const struct operation process_operations[] = {
	{"child", 0, op_child},	     {"kill", 2, op_kill},	{"tgkill", 2, op_tgkill},   {"pidfd-signal", 2, op_pidfd_signal},
	{"sigqueue", 3, op_sigqueue}, {"limit", 2, op_limit},	{"nice", 2, op_nice},	    {"batch", 1, op_batch},
	{"affinity", 2, op_affinity}, {"io-priority", 2, op_io_priority}, {"proc", 3, op_proc}, {"proc-truncate", 3, op_proc_truncate},
	{"proc-mmap", 3, op_proc_mmap}, {"write-vm", 2, op_write_vm}, {"write-mem", 2, op_write_mem}, {"ptrace", 2, op_ptrace},
	{"seize", 1, op_seize},	     {"self", 0, op_self},	{"refused", 0, op_refused}, {"unlisted", 1, op_unlisted},
	{"aio", 2, op_aio},	     {"int80-unlink", 1, op_int80_unlink}, {"shmget", 1, op_shmget}, {"shmput", 2, op_shmput},
	{"shmmap", 2, op_shmmap},    {"shmrm", 1, op_shmrm},	{"semget", 1, op_semget},   {"semop", 2, op_semop},
	{"semrm", 1, op_semrm},	     {"msgget", 1, op_msgget},	{"msgput", 1, op_msgput},   {"msgtake", 1, op_msgtake},
	{"msgrm", 1, op_msgrm},	     {NULL, 0, NULL},
};
