/* SPDX-License-Identifier: Apache-2.0 */
/* System V IPC of the namespace that the oracle has joined. Times and last pids are left out; contents are not. */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>

/* Calls the function with the words of each line below the heading. */
static void each(const char *table, void (*put)(char **words, int count))
{
	char *text = slurp(table, NULL), *rest = text, *line;

	strsep(&rest, "\n");
	while (rest && (line = strsep(&rest, "\n")) && *line) {
		char *words[32], *word;
		int count = 0;

		while ((word = strsep(&line, " ")) && count < 32)
			if (*word)
				words[count++] = word;
		put(words, count);
	}
	free(text);
}

/* key shmid perms size cpid lpid nattch uid gid cuid cgid ... */
static void put_segment(char **words, int count)
{
	int id = count > 10 ? atoi(words[1]) : -1;
	void *address;

	if (id < 0)
		return;
	put_key("ipc shm %d", id);
	printf("key=%s perms=%s size=%s attached=%s uid=%s gid=%s", words[0], words[2], words[3], words[6], words[7], words[8]);
	address = shmat(id, NULL, SHM_RDONLY);
	if (address != (void *)-1) {
		printf(" content=%016llx", (unsigned long long)hash(0, address, strtoul(words[3], NULL, 10)));
		shmdt(address);
	}
	putchar('\n');
}

/* key msqid perms cbytes qnum lspid lrpid uid gid ... */
static void put_queue(char **words, int count)
{
	if (count < 9)
		return;
	put_key("ipc msg %s", words[1]);
	printf("key=%s perms=%s bytes=%s messages=%s uid=%s gid=%s\n", words[0], words[2], words[3], words[4], words[7], words[8]);
}

/* key semid perms nsems uid gid ... */
static void put_semaphores(char **words, int count)
{
	static unsigned short values[32000];
	union semun {
		unsigned short *array;
	} argument = {.array = values};
	int number = count > 5 ? atoi(words[3]) : 0;

	if (number <= 0 || number > 32000)
		return;
	put_key("ipc sem %s", words[1]);
	printf("key=%s perms=%s uid=%s gid=%s values", words[0], words[2], words[4], words[5]);
	if (!semctl(atoi(words[1]), 0, GETALL, argument))
		for (int i = 0; i < number; i++)
			printf(" %u", values[i]);
	putchar('\n');
}

void put_ipc(void)
{
	each("/proc/sysvipc/shm", put_segment);
	each("/proc/sysvipc/msg", put_queue);
	each("/proc/sysvipc/sem", put_semaphores);
}
