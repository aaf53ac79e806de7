/* SPDX-License-Identifier: Apache-2.0 */
/* Every process of the cgroup but pid 1, as /proc tells it. What flows by itself (processor times, switches, sizes in use) is left out. */
#include "oracle.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ioprio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAT_FIELDS 52

static const char *const STATUS_LINES[] = {"Umask:",	  "TracerPid:", "Uid:",	   "Gid:",    "Groups:", "NSpid:",  "NSpgid:",	 "NSsid:",
					   "SigPnd:",	  "ShdPnd:",	"SigBlk:", "SigIgn:", "SigCgt:", "CapInh:", "CapPrm:",	 "CapEff:",
					   "CapBnd:",	  "CapAmb:",	"NoNewPrivs:", "Seccomp:", "THP_enabled:", "Cpus_allowed:", "Mems_allowed:",
					   "untag_mask:"};

struct stat_line {
	char *text;
	char *comm;
	char *fields[STAT_FIELDS]; /* from [2], the state, as proc(5) numbers them less one */
};

static bool read_stat(const char *directory, struct stat_line *stat)
{
	char path[320], *rest, *word;
	int field = 2;

	snprintf(path, sizeof(path), "%s/stat", directory);
	memset(stat, 0, sizeof(*stat));
	stat->text = slurp(path, NULL);
	if (!stat->text || !(stat->comm = strchr(stat->text, '(')) || !(rest = strrchr(stat->text, ')')))
		return false;
	stat->comm++;
	*rest = 0;
	rest += 2;
	while (field < STAT_FIELDS && (word = strsep(&rest, " \n")))
		stat->fields[field++] = word;
	return field >= 42;
}

static const char *run_state(const char *letter)
{
	return *letter == 'T' ? "stopped" : *letter == 't' ? "traced" : *letter == 'Z' || *letter == 'X' ? "dead" : "live";
}

static void put_stat(const char *directory)
{
	struct stat_line stat;

	if (read_stat(directory, &stat)) {
		printf("%s comm=", run_state(stat.fields[2]));
		put_text(stat.comm, strlen(stat.comm));
		printf(" ppid=%s tty=%s foreground=%s nice=%s start=%s policy=%s priority=%s exit-signal=%s", stat.fields[3], stat.fields[6],
		       stat.fields[7], stat.fields[18], stat.fields[21], stat.fields[40], stat.fields[39], stat.fields[37]);
	} else {
		fputs("gone", stdout);
	}
	putchar('\n');
	free(stat.text);
}

static void put_status(const char *directory)
{
	char path[320], *text;

	snprintf(path, sizeof(path), "%s/status", directory);
	text = slurp(path, NULL);
	for (size_t i = 0; text && i < sizeof(STATUS_LINES) / sizeof(*STATUS_LINES); i++) {
		const char *value = line_of(text, STATUS_LINES[i]);

		fputs(STATUS_LINES[i], stdout);
		if (value)
			put_text(value, strlen(value));
		putchar(' ');
	}
	putchar('\n');
	free(text);
}

static void put_file(int inner, pid_t pid, const char *name)
{
	char path[320], *text;
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	text = slurp(path, &size);
	put_key("process %d %s", inner, name);
	if (text)
		put_text(text, size);
	putchar('\n');
	free(text);
}

static void put_link(int inner, pid_t pid, const char *name)
{
	char path[128], target[PATH_MAX];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	size = readlink(path, target, sizeof(target));
	put_key("process %d %s", inner, name);
	put_text(target, size < 0 ? 0 : size);
	putchar('\n');
}

static void put_threads(int inner, pid_t pid)
{
	char path[128], directory[160];
	struct dirent *entry;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	list = opendir(path);
	while (list && (entry = readdir(list))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(directory, sizeof(directory), "/proc/%d/task/%.20s", pid, entry->d_name);
		put_key("process %d thread %s", inner, entry->d_name);
		put_stat(directory);
		put_key("process %d thread %s status", inner, entry->d_name);
		put_status(directory);
	}
	if (list)
		closedir(list);
}

static int inner_pid(pid_t pid)
{
	char path[64], *text, *value, *last;
	int inner = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	text = slurp(path, NULL);
	if (text && (value = line_of(text, "NSpid:"))) {
		last = strrchr(value, '\t');
		inner = atoi(last ? last + 1 : value);
	}
	free(text);
	return inner;
}

void put_processes(const struct target *target)
{
	char path[PATH_MAX], *text, *rest, *line;

	snprintf(path, sizeof(path), "%s/cgroup.procs", target->cgroup);
	rest = text = slurp(path, NULL);
	if (!text)
		die(path);
	while ((line = strsep(&rest, "\n")) && *line) {
		pid_t pid = atoi(line);
		int inner;

		if (pid == target->init || (inner = inner_pid(pid)) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d", pid);
		put_key("process %d", inner);
		put_stat(path);
		put_threads(inner, pid);
		put_link(inner, pid, "cwd");
		put_link(inner, pid, "root");
		put_link(inner, pid, "exe");
		put_file(inner, pid, "cmdline");
		put_file(inner, pid, "limits");
		put_file(inner, pid, "oom_score_adj");
		put_file(inner, pid, "coredump_filter");
		put_file(inner, pid, "personality");
		put_file(inner, pid, "timerslack_ns");
		put_file(inner, pid, "timers");
		put_key("process %d io-priority", inner);
		printf("%ld\n", syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, pid));
		put_descriptors(pid, inner);
		put_memory(pid, inner);
	}
	free(text);
}
