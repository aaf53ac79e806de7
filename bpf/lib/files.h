/* SPDX-License-Identifier: GPL-2.0 */
/* Descriptors, inodes, and what it means that one was touched. */
#pragma once

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFLNK 0120000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000

/* include/uapi/linux/magic.h */
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#define PROC_SUPER_MAGIC 0x9fa0
#define SYSFS_MAGIC 0x62656572
#define CGROUP_SUPER_MAGIC 0x27e0eb
#define CGROUP2_SUPER_MAGIC 0x63677270
#define MQUEUE_MAGIC 0x19800202
#define TMPFS_MAGIC 0x01021994

#define FMODE_WRITE 2

/* include/uapi/linux/major.h; the kernel's dev_t is major << 20 | minor */
#define MEM_MAJOR 1
#define TTY_MAJOR 4
#define TTYAUX_MAJOR 5
#define UNIX98_PTY_MASTER_MAJOR 128
#define UNIX98_PTY_SLAVE_MAJOR 136

static __always_inline struct file *file_of(long fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **array;
	struct file *file = 0;

	if (!table || (unsigned int)fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	array = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), &array[(unsigned int)fd]);
	return file;
}

static __always_inline struct inode *inode_of(long fd)
{
	struct file *file = file_of(fd);

	return file ? BPF_CORE_READ(file, f_inode) : 0;
}

/* The inode number by which the upper layer's own directory names it: an overlay inode is looked through. */
static __noinline __u64 upper_inode_number(struct inode *inode)
{
	if (BPF_CORE_READ(inode, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC && bpf_core_type_exists(struct ovl_inode)) {
		struct ovl_inode *overlay = (void *)inode - bpf_core_field_offset(struct ovl_inode, vfs_inode);
		struct inode *upper = BPF_CORE_READ(overlay, __upperdentry, d_inode);

		if (upper)
			return BPF_CORE_READ(upper, i_ino);
	}
	return BPF_CORE_READ(inode, i_ino);
}

static __noinline void did_device(struct sandbox *sandbox, struct inode *inode)
{
	__u32 device = BPF_CORE_READ(inode, i_rdev), major = device >> 20, minor = device & 0xfffff;

	if (major == MEM_MAJOR && (minor == 3 || minor == 5 || minor == 7 || minor == 8 || minor == 9))
		return; /* null, zero, full, random, urandom */
	if (major == TTY_MAJOR || major == TTYAUX_MAJOR ||
	    (major >= UNIX98_PTY_MASTER_MAJOR && major < UNIX98_PTY_SLAVE_MAJOR + 8))
		did(sandbox, MARK_TERMINAL);
	else
		did(sandbox, MARK_KERNEL);
}

/*
 * Whether this inode of procfs is a file of the current process itself (its oom_score_adj, say). What it sets there is part of that
 * process, and is gone or saved with it.
 */
static __noinline bool of_own_process(struct inode *inode)
{
	struct task_struct *leader = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), group_leader);
	struct proc_inode *file;

	if (!bpf_core_type_exists(struct proc_inode))
		return false;
	file = (void *)inode - bpf_core_field_offset(struct proc_inode, vfs_inode);
	return BPF_CORE_READ(file, pid) == BPF_CORE_READ(leader, thread_pid);
}

/* The current task changed what this inode stands for. */
static __noinline void did_inode(struct sandbox *sandbox, __u64 id, struct inode *inode, bool succeeded)
{
	__u64 magic = BPF_CORE_READ(inode, i_sb, s_magic);

	switch (BPF_CORE_READ(inode, i_mode) & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
		if (magic == PROC_SUPER_MAGIC || magic == SYSFS_MAGIC || magic == CGROUP_SUPER_MAGIC ||
		    magic == CGROUP2_SUPER_MAGIC) {
			if (succeeded && !(magic == PROC_SUPER_MAGIC && of_own_process(inode)))
				did(sandbox, MARK_KERNEL);
			return;
		}
		if (magic == MQUEUE_MAGIC) {
			did(sandbox, MARK_IPC);
			return;
		}
		if (magic == TMPFS_MAGIC) {
			did(sandbox, MARK_MEMORY_FILE);
			touch(sandbox, id, OBJECT_MEMORY_FILE, BPF_CORE_READ(inode, i_ino));
			return;
		}
		/* A failed write may have written part of its data: user space looks at the file anyway. */
		did(sandbox, MARK_FILE_WRITE);
		touch(sandbox, id, OBJECT_FILE, upper_inode_number(inode));
		return;
	case S_IFSOCK:
		if (succeeded) {
			did(sandbox, MARK_SOCKET);
			touch(sandbox, id, OBJECT_SOCKET, BPF_CORE_READ(inode, i_ino));
		}
		return;
	case S_IFCHR:
		if (succeeded)
			did_device(sandbox, inode);
		return;
	case S_IFBLK:
		did(sandbox, MARK_KERNEL);
		return;
	case S_IFIFO:
		if (succeeded) {
			did(sandbox, MARK_PIPE);
			touch(sandbox, id, OBJECT_PIPE, BPF_CORE_READ(inode, i_ino));
		}
		return;
	}
	/*
	 * No type: eventfd, timerfd, epoll and their like. They cannot be opened by name, so a process of this turn shares one with a
	 * survivor only if the survivor ran (fork, sending it) or was robbed of it (pidfd_getfd): both are seen.
	 */
}

static __noinline void did_fd(struct sandbox *sandbox, __u64 id, long fd, bool succeeded)
{
	struct inode *inode = inode_of(fd);

	if (inode)
		did_inode(sandbox, id, inode, succeeded);
	else if (succeeded)
		did(sandbox, MARK_UNREADABLE); /* closed meanwhile by another thread */
}

/* Data was taken out: matters only where it stays with another process when it is not taken. */
static __noinline void did_read(struct sandbox *sandbox, __u64 id, long fd)
{
	struct inode *inode = inode_of(fd);
	__u32 type;

	if (!inode) {
		did(sandbox, MARK_UNREADABLE);
		return;
	}
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type == S_IFIFO || type == S_IFSOCK)
		did_inode(sandbox, id, inode, true);
	else if (type == S_IFCHR)
		did_device(sandbox, inode);
}
