/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on files by name, done and left behind by the process that does them. */
#include "puppet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct timespec kept[2];

/* Opens, does, closes. Names may stand for a FIFO, so nothing waits. */
#define WITH(path, flags, call)                                                                                                         \
	int fd = open(path, (flags) | O_CLOEXEC | O_NONBLOCK, 0644);                                                                                     \
	long result = fd < 0 ? -1 : (long)(call);                                                                                           \
	int saved = errno;                                                                                                                  \
	if (fd >= 0)                                                                                                                        \
		close(fd);                                                                                                                  \
	errno = saved;                                                                                                                      \
	return result

static long op_create(char **w) { WITH(w[0], O_CREAT | O_WRONLY, 0); }
static long op_empty(char **w) { WITH(w[0], O_CREAT | O_TRUNC | O_WRONLY, 0); }
static long op_write(char **w) { WITH(w[0], O_WRONLY, pwrite(fd, w[2], strlen(w[2]), number(w[1]))); }
static long op_append(char **w) { WITH(w[0], O_WRONLY | O_APPEND | O_CREAT, write(fd, w[1], strlen(w[1]))); }
static long op_put(char **w) { WITH(w[0], O_WRONLY, write(fd, w[1], strlen(w[1]))); }
static long op_chattr(char **w);
static long op_ftruncate(char **w) { WITH(w[0], O_WRONLY, ftruncate(fd, number(w[1]))); }
static long op_fchmod(char **w) { WITH(w[0], O_RDONLY, fchmod(fd, strtol(w[1], NULL, 8))); }
static long op_fallocate(char **w) { WITH(w[0], O_RDWR, fallocate(fd, number(w[1]), number(w[2]), number(w[3]))); }
static long op_openrw(char **w) { WITH(w[0], O_RDWR, 0); }
static long op_fsync(char **w) { WITH(w[0], O_RDWR, fsync(fd)); }
static long op_fsetxattr(char **w) { WITH(w[0], O_RDONLY, fsetxattr(fd, w[1], w[2], strlen(w[2]), 0)); }
static long op_futimens(char **w)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = number(w[1])}};

	WITH(w[0], O_RDONLY, futimens(fd, times));
}

static long op_pwritev(char **w)
{
	struct iovec parts[2] = {{w[2], 1}, {w[2] + 1, strlen(w[2]) - 1}};

	WITH(w[0], O_WRONLY, pwritev2(fd, parts, 2, number(w[1]), 0));
}

/* Reads some bytes and writes the same. */
static long rewrite(int fd)
{
	char data[64];
	ssize_t got = pread(fd, data, sizeof(data), 0);

	return got < 0 ? -1 : pwrite(fd, data, got, 0);
}

static long op_rewrite(char **w) { WITH(w[0], O_RDWR, rewrite(fd)); }

static long poke(int fd, long at, char value, int flags)
{
	char *address = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, fd, at & ~4095L);

	if (address == MAP_FAILED)
		return -1;
	address[at & 4095] = value;
	return munmap(address, 4096);
}

static long op_mmap(char **w) { WITH(w[0], O_RDWR, poke(fd, number(w[1]), *w[2], MAP_SHARED)); }
static long op_mmap_private(char **w) { WITH(w[0], O_RDWR, poke(fd, number(w[1]), *w[2], MAP_PRIVATE)); }
static long op_mmap_validate(char **w) { WITH(w[0], O_RDWR, poke(fd, number(w[1]), *w[2], MAP_SHARED_VALIDATE)); }

/* A mapping made readable only, moved, then made writable. */
static long remapped(int fd, char value)
{
	char *address = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	address = address == MAP_FAILED ? address : mremap(address, 4096, 8192, MREMAP_MAYMOVE);
	if (address == MAP_FAILED || mprotect(address, 4096, PROT_READ | PROT_WRITE))
		return -1;
	*address = value;
	return 0;
}

static long op_mremap(char **w) { WITH(w[0], O_RDWR, remapped(fd, *w[1])); }

static long op_truncate(char **w) { return truncate(w[0], number(w[1])); }
static long op_rename(char **w) { return rename(w[0], w[1]); }
static long op_rename2(char **w) { return renameat2(AT_FDCWD, w[0], AT_FDCWD, w[1], number(w[2])); }
static long op_link(char **w) { return link(w[0], w[1]); }
static long op_symlink(char **w) { return symlink(w[0], w[1]); }
static long op_unlink(char **w) { return unlink(w[0]); }
static long op_mkdir(char **w) { return mkdir(w[0], 0755); }
static long op_rmdir(char **w) { return rmdir(w[0]); }
static long op_chmod(char **w) { return chmod(w[0], strtol(w[1], NULL, 8)); }
static long op_fchmodat2(char **w) { return syscall(452, AT_FDCWD, w[0], strtol(w[1], NULL, 8), AT_SYMLINK_NOFOLLOW); }
static long op_chown(char **w) { return lchown(w[0], number(w[1]), number(w[2])); }
static long op_mkfifo(char **w) { return mkfifo(w[0], 0644); }
static long op_mknod_whiteout(char **w) { return mknod(w[0], S_IFCHR | 0644, 0); }
static long op_setxattr(char **w) { return lsetxattr(w[0], w[1], w[2], strlen(w[2]), 0); }
static long op_rmxattr(char **w) { return lremovexattr(w[0], w[1]); }
static long op_utime(char **w)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = number(w[1])}};

	return utimensat(AT_FDCWD, w[0], times, AT_SYMLINK_NOFOLLOW);
}

/* keep and putback: a file's times, so that what is done between the two does not show in them. */
static long op_keep(char **w)
{
	struct stat st;

	if (lstat(w[0], &st))
		return -1;
	kept[0] = st.st_atim;
	kept[1] = st.st_mtim;
	return 0;
}

static long op_putback(char **w) { return utimensat(AT_FDCWD, w[0], kept, AT_SYMLINK_NOFOLLOW); }

static long op_read(char **w)
{
	char data[4096];

	WITH(w[0], O_RDONLY, read(fd, data, w[1] ? (size_t)number(w[1]) % sizeof(data) : sizeof(data)));
}

static long op_chattr(char **w)
{
	int flags, fd = open(w[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	long result = -1;

	if (fd >= 0 && !ioctl(fd, FS_IOC_GETFLAGS, &flags)) {
		flags ^= number(w[1]);
		result = ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
	close(fd);
	return result;
}

/* The four ways of the kernel to bring bytes from one file to another. */
static long transfer(char **w, long (*move)(int from, int to, size_t size))
{
	int from = open(w[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC), to = open(w[1], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	long result = from < 0 || to < 0 ? -1 : move(from, to, w[2] ? number(w[2]) : 8);

	close(from);
	close(to);
	return result;
}

static long by_copy(int from, int to, size_t size) { return copy_file_range(from, NULL, to, NULL, size, 0); }
static long by_sendfile(int from, int to, size_t size) { return sendfile(to, from, NULL, size); }
static long by_clone(int from, int to, size_t size)
{
	(void)size;
	return ioctl(to, FICLONE, from);
}

static long by_splice(int from, int to, size_t size)
{
	int ends[2];

	if (pipe(ends) || splice(from, NULL, ends[1], NULL, size, 0) < 0)
		return -1;
	return splice(ends[0], NULL, to, NULL, size, 0);
}

static long op_copy(char **w) { return transfer(w, by_copy); }
static long op_sendfile(char **w) { return transfer(w, by_sendfile); }
static long op_clone(char **w) { return transfer(w, by_clone); }
static long op_splice(char **w) { return transfer(w, by_splice); }

/* vmsplice TARGET TEXT, tee TARGET TEXT: into a FIFO */
static long op_vmsplice(char **w)
{
	struct iovec part = {w[1], strlen(w[1])};

	WITH(w[0], O_WRONLY, vmsplice(fd, &part, 1, SPLICE_F_NONBLOCK));
}

static long teed(int fd, const char *text)
{
	int ends[2];

	if (pipe(ends) || write(ends[1], text, strlen(text)) < 0)
		return -1;
	return tee(ends[0], fd, strlen(text), SPLICE_F_NONBLOCK);
}

static long op_tee(char **w) { WITH(w[0], O_WRONLY, teed(fd, w[1])); }

/* tmpfile DIRECTORY [NAME]: an unnamed file with content, given a name or dropped */
static long op_tmpfile(char **w)
{
	char path[64];
	int fd = open(w[0], O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, "unnamed", 7) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return w[1] ? linkat(AT_FDCWD, path, AT_FDCWD, w[1], AT_SYMLINK_FOLLOW) : close(fd);
}

const struct operation file_operations[] = {
	{"create", 1, op_create},	{"empty", 1, op_empty},		{"write", 3, op_write},
	{"append", 2, op_append},	{"put", 2, op_put},		{"ftruncate", 2, op_ftruncate},
	{"fchmod", 2, op_fchmod},	{"fallocate", 4, op_fallocate}, {"openrw", 1, op_openrw},
	{"fsync", 1, op_fsync},		{"fsetxattr", 3, op_fsetxattr}, {"futimens", 2, op_futimens},
	{"pwritev", 3, op_pwritev},	{"rewrite", 1, op_rewrite},	{"mmap", 3, op_mmap},
	{"mmap-private", 3, op_mmap_private}, {"mmap-validate", 3, op_mmap_validate}, {"mremap", 2, op_mremap},
	{"truncate", 2, op_truncate},	{"rename", 2, op_rename},	{"rename2", 3, op_rename2},
	{"link", 2, op_link},		{"symlink", 2, op_symlink},	{"unlink", 1, op_unlink},
	{"mkdir", 1, op_mkdir},		{"rmdir", 1, op_rmdir},		{"chmod", 2, op_chmod},
	{"fchmodat2", 2, op_fchmodat2}, {"chown", 3, op_chown},		{"mkfifo", 1, op_mkfifo},
	{"mknod-whiteout", 1, op_mknod_whiteout}, {"setxattr", 3, op_setxattr}, {"rmxattr", 2, op_rmxattr},
	{"utime", 2, op_utime},		{"keep", 1, op_keep},		{"putback", 1, op_putback},
	{"read", 1, op_read},		{"chattr", 2, op_chattr},	{"copy", 2, op_copy},
	{"sendfile", 2, op_sendfile},	{"clone", 2, op_clone},		{"splice", 2, op_splice},
	{"vmsplice", 2, op_vmsplice},	{"tee", 2, op_tee},		{"tmpfile", 1, op_tmpfile},
	{NULL, 0, NULL},
};
