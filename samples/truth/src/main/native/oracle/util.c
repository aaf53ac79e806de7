/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void die(const char *what)
{
	fprintf(stderr, "crab-oracle: %s: %s\n", what, strerror(errno));
	exit(1);
}

uint64_t hash(uint64_t seed, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint64_t word;

	seed ^= size * 0x9e3779b97f4a7c15ULL;
	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		seed = (seed ^ word) * 0xff51afd7ed558ccdULL;
		seed ^= seed >> 32;
	}
	word = 0;
	memcpy(&word, bytes, size);
	seed = (seed ^ word) * 0xc4ceb9fe1a85ec53ULL;
	return seed ^ (seed >> 29);
}

void put_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = text[i];

		if (c <= ' ' || c == '\\' || c >= 0x7f)
			printf("\\%03o", c);
		else
			putchar(c);
	}
}

void put_key(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\t');
}

char *slurp(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 8192, used = 0;
	char *text;

	if (fd < 0)
		return NULL;
	text = malloc(room + 1);
	for (;;) {
		ssize_t got;

		if (used == room)
			text = realloc(text, (room *= 2) + 1);
		if (!text)
			die("memory");
		got = read(fd, text + used, room - used);
		if (got < 0) {
			close(fd);
			free(text);
			return NULL;
		}
		if (got == 0)
			break;
		used += got;
	}
	close(fd);
	text[used] = 0;
	if (size)
		*size = used;
	return text;
}

char *line_of(char *text, const char *name)
{
	size_t length = strlen(name);

	for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (!strncmp(line, name, length)) {
			static char value[4096];
			char *end = strchrnul(line, '\n');
			size_t size = end - line - length;

			line += length;
			while (size && isspace((unsigned char)*line))
				line++, size--;
			if (size >= sizeof(value))
				size = sizeof(value) - 1;
			memcpy(value, line, size);
			value[size] = 0;
			return value;
		}
	}
	return NULL;
}

uint64_t hash_fd(int fd)
{
	static char buffer[1 << 18];
	uint64_t sum = 0;
	off_t at = 0;
	ssize_t got;

	while ((got = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		sum = hash(sum, buffer, got);
		at += got;
	}
	return got < 0 ? (uint64_t)-errno : sum;
}
