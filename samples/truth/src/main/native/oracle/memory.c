/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's memory: its mappings, and a hash of what is in them and in no file. Pages of zeros count like pages never touched.
 *
 * Two things are masked. The kernel writes the number of the processor into each thread's rseq area whenever the thread is moved; the area's
 * 32 bytes are found without stopping the thread, by glibc's layout: a thread's descriptor begins with its own address and repeats it at
 * 16, and the area is at 0x920 from there (__rseq_offset of glibc 2.36; without such a descriptor nothing is masked). And a freeze
 * interrupts relative sleeps, for which the kernel writes the time left to where the sleeper asked for it: the 16 bytes are found by the
 * registers of the interrupted call.
 */
#include "oracle.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL
#define RUN 256UL /* pages read in one go */
#define RSEQ_OFFSET 0x920UL
#define RSEQ_SIZE 32UL
#define MASKS 128
#define MAX_SHARED (256UL << 20)
#define ENTRY_PRESENT (3ULL << 62) /* or swapped */
#define ENTRY_OF_FILE (1ULL << 61)

static unsigned char buffer[RUN * PAGE];
static uint64_t entries[RUN];
static struct {
	uint64_t address, size;
} masks[MASKS];
static size_t mask_count;

static void mask(uint64_t address, uint64_t size)
{
	masks[mask_count % MASKS].address = address;
	masks[mask_count++ % MASKS].size = size;
}

/* Notes the rseq areas of the threads whose descriptor is on this page. */
static void find_masks(const unsigned char *page, uint64_t address)
{
	for (size_t at = 0; at + 24 <= PAGE; at += 64) {
		uint64_t self, again;

		memcpy(&self, page + at, 8);
		memcpy(&again, page + at + 16, 8);
		if (self == address + at && again == self)
			mask(self + RSEQ_OFFSET, RSEQ_SIZE);
	}
}

static void apply_masks(unsigned char *page, uint64_t address)
{
	for (size_t i = 0; i < mask_count && i < MASKS; i++)
		for (uint64_t at = masks[i].address; at < masks[i].address + masks[i].size; at++)
			if (at >= address && at < address + PAGE)
				page[at - address] = 0;
}

/* Where the threads' interrupted sleeps have the kernel put the time left: nanosleep's second argument, clock_nanosleep's fourth. */
static void mask_sleeps(pid_t pid)
{
	char path[320], *text;
	struct dirent *entry;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	list = opendir(path);
	while (list && (entry = readdir(list))) {
		uint64_t second, fourth;
		long number;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/syscall", pid, entry->d_name);
		text = slurp(path, NULL);
		if (text && sscanf(text, "%ld %*s %" SCNx64 " %*s %" SCNx64, &number, &second, &fourth) == 3) {
			if (number == SYS_nanosleep || (number == SYS_restart_syscall && second))
				mask(second, sizeof(struct timespec));
			else if ((number == SYS_clock_nanosleep || number == SYS_restart_syscall) && !second)
				mask(fourth, sizeof(struct timespec));
		}
		free(text);
	}
	if (list)
		closedir(list);
}

static bool is_zero(const unsigned char *page)
{
	return !page[0] && !memcmp(page, page + 1, PAGE - 1);
}

/* Hash of the pages of a mapping that are the process's own, or of all of them where it is shared. */
static uint64_t hash_range(int memory, int pagemap, uint64_t start, uint64_t end, bool shared)
{
	uint64_t sum = 0;

	for (uint64_t at = start; at < end; at += RUN * PAGE) {
		size_t pages = (end - at) / PAGE < RUN ? (end - at) / PAGE : RUN;

		if (!shared && pread(pagemap, entries, pages * 8, at / PAGE * 8) != (ssize_t)(pages * 8))
			return sum ^ 1;
		for (size_t first = 0, next; first < pages; first = next) {
			next = first + 1;
			if (!shared && (!(entries[first] & ENTRY_PRESENT) || (entries[first] & ENTRY_OF_FILE)))
				continue;
			while (next < pages && (shared || ((entries[next] & ENTRY_PRESENT) && !(entries[next] & ENTRY_OF_FILE))))
				next++;
			if (pread(memory, buffer, (next - first) * PAGE, at + first * PAGE) != (ssize_t)((next - first) * PAGE)) {
				sum ^= 2;
				continue;
			}
			for (size_t i = first; i < next; i++) {
				unsigned char *page = buffer + (i - first) * PAGE;
				uint64_t address = at + i * PAGE;

				find_masks(page, address);
				apply_masks(page, address);
				if (!is_zero(page)) {
					sum = hash(sum, &address, sizeof(address));
					sum = hash(sum, page, PAGE);
				}
			}
		}
	}
	return sum;
}

static bool is_memory_file(const char *path)
{
	return !strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/SYSV", 5);
}

void put_memory(pid_t pid, int inner)
{
	char path[64], *maps, *rest, *line;
	int memory, pagemap;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	rest = maps = slurp(path, NULL);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	mask_count = 0;
	mask_sleeps(pid);
	while (maps && (line = strsep(&rest, "\n")) && *line) {
		uint64_t start, end;
		char rights[5];
		int used = 0;
		const char *name;
		bool shared;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &start, &end, rights, &used) < 3 || start >> 47)
			continue;
		name = line + used;
		put_key("process %d map %" PRIx64, inner, start);
		put_text(line, strlen(line));
		putchar('\n');
		shared = rights[3] == 's';
		if (!strncmp(name, "[vvar", 5) || (shared && (!is_memory_file(name) || end - start > MAX_SHARED)))
			continue;
		put_key("process %d memory %" PRIx64, inner, start);
		printf("%016" PRIx64 " %.40s\n", hash_range(memory, pagemap, start, end, shared), *name ? name : "anonymous");
	}
	close(memory);
	close(pagemap);
	free(maps);
}
