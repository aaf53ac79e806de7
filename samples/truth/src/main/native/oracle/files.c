/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files as the sandbox sees them, as far as they differ from the image: the layer is walked beside the image, and what equals the image's
 * file (a copy-up that changed nothing) or hides nothing (a whiteout, an opaque directory) is left out.
 */
#include "oracle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What chattr sets and keeps; the others tell how a file system stores a file. */
#define KEPT_FLAGS                                                                                                                      \
	(FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL | FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL | FS_NOATIME_FL |              \
	 FS_NOCOMP_FL | FS_DIRSYNC_FL | FS_NOCOW_FL | FS_PROJINHERIT_FL)

struct group {
	ino_t inode;
	char *first;
};

static struct group *groups;
static size_t group_count, group_room;

/* The first path, in the walk's order, of the files with that inode. */
static const char *group_of(ino_t inode, const char *path)
{
	for (size_t i = 0; i < group_count; i++)
		if (groups[i].inode == inode)
			return groups[i].first;
	if (group_count == group_room)
		groups = realloc(groups, (group_room = group_room * 2 + 16) * sizeof(*groups));
	groups[group_count].inode = inode;
	groups[group_count].first = strdup(path);
	return groups[group_count++].first;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool kept_attribute(const char *name)
{
	if (strncmp(name, "trusted.overlay.", 16))
		return true;
	name += 16;
	return !strcmp(name, "redirect") || !strcmp(name, "metacopy") || !strcmp(name, "whiteout") || !strcmp(name, "protattr");
}

static void describe_attributes(FILE *out, const char *at)
{
	char list[8192], value[65536], *names[256];
	ssize_t size = llistxattr(at, list, sizeof(list));
	size_t count = 0;

	for (char *name = list; size > 0 && name < list + size && count < 256; name += strlen(name) + 1)
		if (kept_attribute(name))
			names[count++] = name;
	qsort(names, count, sizeof(*names), by_text);
	for (size_t i = 0; i < count; i++) {
		ssize_t got = lgetxattr(at, names[i], value, sizeof(value));

		fprintf(out, " %s=%zd:%016llx", names[i], got, (unsigned long long)hash(0, value, got > 0 ? got : 0));
	}
}

/* A file's state as text. Content and links are optional: the image's files are compared without links, and only then by content. */
static char *describe(int directory, const char *name, const struct stat *st, bool content)
{
	static const char *const types[16] = {[S_IFREG >> 12] = "file",	   [S_IFDIR >> 12] = "directory", [S_IFLNK >> 12] = "link",
					      [S_IFCHR >> 12] = "char",	   [S_IFBLK >> 12] = "block",	  [S_IFIFO >> 12] = "fifo",
					      [S_IFSOCK >> 12] = "socket"};
	char at[64 + NAME_MAX], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	snprintf(at, sizeof(at), "/proc/self/fd/%d/%s", directory, name);
	fprintf(out, "%s mode=%o uid=%u gid=%u", types[st->st_mode >> 12], st->st_mode & 07777, st->st_uid, st->st_gid);
	if (!S_ISDIR(st->st_mode))
		fprintf(out, " size=%lld mtime=%lld.%09ld", (long long)st->st_size, (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		fprintf(out, " device=%u:%u", major(st->st_rdev), minor(st->st_rdev));
	describe_attributes(out, at);
	if (S_ISLNK(st->st_mode)) {
		char target[4096];
		ssize_t length = readlinkat(directory, name, target, sizeof(target));

		fprintf(out, " target=%zd:%016llx", length, (unsigned long long)hash(0, target, length > 0 ? length : 0));
	}
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) {
		int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC), flags = 0;

		if (fd < 0)
			fprintf(out, " unreadable=%d", errno);
		else if (!ioctl(fd, FS_IOC_GETFLAGS, &flags) && (flags & KEPT_FLAGS))
			fprintf(out, " flags=%x", flags & KEPT_FLAGS);
		if (fd >= 0 && content && S_ISREG(st->st_mode))
			fprintf(out, " content=%016llx", (unsigned long long)hash_fd(fd));
		if (fd >= 0)
			close(fd);
	}
	fclose(out);
	return text;
}

static bool like_image(int upper, int lower, const char *name, const struct stat *st, const struct stat *image)
{
	char *a, *b;
	bool same;

	if ((st->st_mode & S_IFMT) != (image->st_mode & S_IFMT))
		return false;
	a = describe(upper, name, st, false);
	b = describe(lower, name, image, false);
	same = !strcmp(a, b);
	free(a);
	free(b);
	if (!same || !S_ISREG(st->st_mode))
		return same;
	a = describe(upper, name, st, true);
	b = describe(lower, name, image, true);
	same = !strcmp(a, b);
	free(a);
	free(b);
	return same;
}

static void put_path(const char *path)
{
	fputs("file ", stdout);
	put_text(path, strlen(path));
	putchar('\t');
}

/* Names in a directory, sorted. */
static size_t names_in(int directory, char ***names)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0, room = 0;
	struct dirent *entry;

	*names = NULL;
	if (!list)
		return 0;
	while ((entry = readdir(list))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (count == room)
			*names = realloc(*names, (room = room * 2 + 32) * sizeof(**names));
		(*names)[count++] = strdup(entry->d_name);
	}
	closedir(list);
	qsort(*names, count, sizeof(**names), by_text);
	return count;
}

static int below(int directory, const char *name)
{
	return directory < 0 ? -1 : openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void put_hidden(int upper, int lower, const char *path)
{
	char **names, child[8192];
	size_t count = names_in(lower, &names);
	struct stat st;

	for (size_t i = 0; i < count; i++) {
		if (fstatat(upper, names[i], &st, AT_SYMLINK_NOFOLLOW)) {
			snprintf(child, sizeof(child), "%s/%s", path, names[i]);
			put_path(child);
			puts("absent");
		}
		free(names[i]);
	}
	free(names);
}

static bool is_opaque(int directory)
{
	char value[8];

	return fgetxattr(directory, "trusted.overlay.opaque", value, sizeof(value)) == 1 && value[0] == 'y';
}

static void walk(int upper, int lower, bool opaque, const char *path)
{
	char **names, child[8192];
	size_t count = names_in(upper, &names);

	for (size_t i = 0; i < count; i++) {
		const char *name = names[i];
		struct stat st, image;
		bool imaged = lower >= 0 && !fstatat(lower, name, &image, AT_SYMLINK_NOFOLLOW);

		snprintf(child, sizeof(child), "%s/%s", path, name);
		if (fstatat(upper, name, &st, AT_SYMLINK_NOFOLLOW))
			die(child);
		if (S_ISCHR(st.st_mode) && st.st_rdev == 0) {
			if (imaged) {
				put_path(child);
				puts("absent");
			}
		} else if (!imaged || !like_image(upper, lower, name, &st, &image)) {
			char *text = describe(upper, name, &st, true);

			put_path(child);
			fputs(text, stdout);
			if (!S_ISDIR(st.st_mode) && st.st_nlink > 1) {
				const char *first = group_of(st.st_ino, child);

				fputs(" linked=", stdout);
				put_text(first, strlen(first));
			}
			putchar('\n');
			free(text);
		}
		if (S_ISDIR(st.st_mode)) {
			int u = below(upper, name), l = below(lower, name);

			if (u < 0)
				die(child);
			walk(u, l, opaque || is_opaque(u), child);
			close(u);
			if (l >= 0)
				close(l);
		}
		free(names[i]);
	}
	free(names);
	if (opaque && lower >= 0)
		put_hidden(upper, lower, path);
}

void put_files(const struct target *target)
{
	walk(target->upper, target->lower, false, "");
	while (group_count)
		free(groups[--group_count].first);
}
