/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The puppet: does single system calls that no shell does, one operation an argument, within the sandbox. "@NAME OPERATION" has a survivor
 * do it: "spawn NAME" makes one, a process that sleeps until it is told something. Survivors are found by their name in /proc, so that
 * they leave no file behind.
 *
 * An operation is words separated by spaces. Descriptors and mappings live in slots 0 to 9 of the process that made them.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define SLOTS 10

struct operation {
	const char *name;
	int words; /* at least this many after the name */
	long (*run)(char **words); /* -1 and errno where it fails */
};

extern const struct operation file_operations[], process_operations[], survivor_operations[], channel_operations[];

extern int slots[SLOTS];
extern struct mapping {
	char *address;
	size_t size;
} mappings[SLOTS];

/* main.c: one operation; 0, or -1 and errno */
int perform(char *operation);
int slot(const char *word);
long number(const char *word);

/* survivor.c */
long spawn(char **words);
int tell(const char *name, const char *operation);
pid_t pid_of(const char *name);
