/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: everything of a frozen sandbox that a recovery has to bring back, as lines "key TAB value" in no particular order. The first
 * word of a key says what the line belongs to: file; process, ipc, mount, host.
 *
 * It reads all there is, every time, and keeps nothing from one reading to the next: slow and simple, so that it can be believed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct target {
	const char *cgroup; /* its directory in the v2 hierarchy */
	pid_t init;	    /* host pid of pid 1, which is not part of the state */
	int upper;	    /* the overlay's writable layer */
	int lower;	    /* the image */
};

/* util.c */
void die(const char *what);
uint64_t hash(uint64_t seed, const void *data, size_t size);
void put_text(const char *text, size_t size); /* escapes what is no visible ASCII */
void put_key(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *slurp(const char *path, size_t *size); /* whole file or NULL; free it */
char *line_of(char *text, const char *name); /* value of "name..." at the start of a line, cut at its end; or NULL */
uint64_t hash_fd(int fd);		     /* of a regular file's bytes, by pread */

/* files.c */
void put_files(const struct target *target);

/* processes.c */
void put_processes(const struct target *target);

/* memory.c: mappings and the hashes of what only the process has in them */
void put_memory(pid_t pid, int inner);

/* descriptors.c */
void put_descriptors(pid_t pid, int inner);

/* sockets.c: the kernel's tables, for sockets that were seen among the descriptors */
void saw_socket(uint64_t inode);
void put_sockets(void);

/* ipc.c */
void put_ipc(void);
