/* SPDX-License-Identifier: Apache-2.0 */
/* crab-puppet OPERATION...: performs them in order; the exit status is 1 if one failed, but the later ones are done all the same. */
#include "puppet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 10 /* seconds, then it ends, whatever it waits for; survivors do not inherit that */

int slots[SLOTS] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
struct mapping mappings[SLOTS];

long number(const char *word)
{
	return strtol(word, NULL, 0);
}

int slot(const char *word)
{
	return (unsigned long)number(word) % SLOTS;
}

int perform(char *operation)
{
	static const struct operation *const tables[] = {file_operations, process_operations, survivor_operations, channel_operations};
	char *words[12] = {NULL}, *word;
	int count = 0;

	while (count < 11 && (word = strsep(&operation, " ")))
		words[count++] = word;
	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
		for (const struct operation *o = tables[t]; o->name; o++) {
			if (strcmp(o->name, words[0]))
				continue;
			errno = EINVAL;
			return count - 1 < o->words || o->run(words + 1) < 0 ? -1 : 0;
		}
	}
	errno = ENOSYS;
	return -1;
}

int main(int argc, char **argv)
{
	int failed = 0;

	alarm(PATIENCE);

	for (int i = 1; i < argc; i++) {
		char copy[1024];
		int result;

		snprintf(copy, sizeof(copy), "%s", argv[i]);
		if (*copy == '@') {
			char *rest = strchr(copy, ' ');

			if (!rest)
				return 2;
			*rest++ = 0;
			result = tell(copy + 1, rest);
		} else {
			result = perform(copy);
		}
		if (result) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			failed = 1;
		}
	}
	return failed;
}
