/* SPDX-License-Identifier: GPL-2.0 */
/* What a finished system call did, by its class. */
#pragma once

#define O_CREAT 0100
#define O_TRUNC 01000
#define O_TMPFILE_BIT 020000000
#define MAP_TYPE 0x0f
#define MAP_PRIVATE 0x02
#define MAP_ANONYMOUS 0x20
#define F_SETPIPE_SZ 1031
#define F_ADD_SEALS 1033
#define PRIO_PROCESS 0
#define IOPRIO_WHO_PROCESS 1
#define PTRACE_TRACEME 0
#define ENOENT 2
#define EACCES 13
#define EEXIST 17
#define ENOTDIR 20
#define EISDIR 21
#define EROFS 30

static __noinline bool is_caller(long pid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct pid *own = BPF_CORE_READ(task, thread_pid);
	struct upid seen = {};
	unsigned int level;

	if (pid == 0)
		return true;
	if (!own)
		return false;
	level = BPF_CORE_READ(own, level);
	bpf_probe_read_kernel(&seen.nr, sizeof(seen.nr), &own->numbers[level & 31].nr);
	return seen.nr == (int)pid;
}

/*
 * Whether opening with O_CREAT may have made what is open now: that is always a regular file, so that "2>/dev/null" makes nothing. Threads
 * that share the descriptors may have put another file in its place by now.
 */
static __noinline bool may_be_made(long fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct inode *inode = inode_of(fd);
	__u32 type;

	if (!inode || BPF_CORE_READ(task, files, count.counter) > 1)
		return true;
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	return type != S_IFCHR && type != S_IFBLK && type != S_IFIFO;
}

static __noinline void did_open(struct sandbox *sandbox, __u64 id, __u64 flags, long result)
{
	struct inode *inode;

	if (result < 0) {
		/* An open that failed late may have made the file; these errors come before that. */
		if ((flags & O_CREAT) && result != -ENOENT && result != -EACCES && result != -EEXIST && result != -ENOTDIR &&
		    result != -EISDIR && result != -EROFS)
			did(sandbox, MARK_PATH_CALL);
		return;
	}
	if ((flags & O_CREAT) && may_be_made(result))
		did(sandbox, MARK_PATH_CALL);
	if (flags & (O_TRUNC | O_TMPFILE_BIT)) {
		did_fd(sandbox, id, result, true);
		return;
	}
	inode = inode_of(result);
	if (inode && (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFIFO)
		did_inode(sandbox, id, inode, true); /* tells the other end that somebody came */
}

static __noinline void did_ioctl(struct sandbox *sandbox, __u64 id, long fd, __u32 command)
{
	struct inode *inode = inode_of(fd);
	__u32 type;

	switch (command) { /* asm-generic/ioctls.h, linux/sockios.h, linux/fs.h: questions, and flags of the caller's own descriptor */
	case 0x5401: /* TCGETS */
	case 0x540f: /* TIOCGPGRP */
	case 0x5411: /* TIOCOUTQ, SIOCOUTQ */
	case 0x5413: /* TIOCGWINSZ */
	case 0x541b: /* FIONREAD */
	case 0x5421: /* FIONBIO */
	case 0x5429: /* TIOCGSID */
	case 0x5450: /* FIONCLEX */
	case 0x5451: /* FIOCLEX */
	case 0x5452: /* FIOASYNC */
	case 0x80045430: /* TIOCGPTN */
	case 0x802c542a: /* TCGETS2 */
	case 0x8905: /* SIOCATMARK */
	case 0x8906: /* SIOCGSTAMP */
	case 0x8910: /* SIOCGIFNAME */
	case 0x8912: /* SIOCGIFCONF */
	case 0x8913: /* SIOCGIFFLAGS */
	case 0x8915: /* SIOCGIFADDR */
	case 0x8919: /* SIOCGIFBRDADDR */
	case 0x891b: /* SIOCGIFNETMASK */
	case 0x891d: /* SIOCGIFMETRIC */
	case 0x8921: /* SIOCGIFMTU */
	case 0x8927: /* SIOCGIFHWADDR */
	case 0x8933: /* SIOCGIFINDEX */
	case 0x80086601: /* FS_IOC_GETFLAGS */
	case 0x801c581f: /* FS_IOC_FSGETXATTR */
	case 0xc020660b: /* FS_IOC_FIEMAP */
	case 2: /* FIGETBSZ */
		return;
	}
	if (!inode) {
		did(sandbox, MARK_UNREADABLE);
		return;
	}
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type == S_IFSOCK)
		did(sandbox, MARK_KERNEL); /* network configuration */
	else
		did_inode(sandbox, id, inode, true);
}

static __noinline void did_mmap(struct sandbox *sandbox, __u64 id, long fd, __u64 flags)
{
	struct file *file;

	if ((flags & MAP_TYPE) == MAP_PRIVATE || (flags & MAP_ANONYMOUS))
		return;
	file = file_of(fd);
	/* Whatever the protection now: mprotect may allow writing later, and the pages may be dirty already, so that no hook sees it. */
	if (!file)
		did(sandbox, MARK_UNREADABLE);
	else if (BPF_CORE_READ(file, f_mode) & FMODE_WRITE)
		did_fd(sandbox, id, fd, true);
}

static __always_inline void did_call(struct sandbox *sandbox, __u64 id, enum call_class class, struct pt_regs *regs, long result)
{
	long a0 = regs->di, a1 = regs->si, a2 = regs->dx, a3 = regs->r10, a4 = regs->r8;
	bool done = result >= 0;

	switch (class) {
	case CLASS_READ:
		if (result > 0)
			did_read(sandbox, id, a0);
		return;
	case CLASS_WRITE:
		did_fd(sandbox, id, a0, result > 0);
		return;
	case CLASS_ATTRIBUTE:
		did_fd(sandbox, id, a0, done);
		return;
	case CLASS_PATH:
		if (done)
			did(sandbox, MARK_PATH_CALL);
		return;
	case CLASS_TRUNCATE:
		if (done) {
			did(sandbox, MARK_PATH_CALL);
			did(sandbox, MARK_TRUNCATE);
		}
		return;
	case CLASS_OPEN:
		did_open(sandbox, id, a1, result);
		return;
	case CLASS_OPENAT:
		did_open(sandbox, id, a2, result);
		return;
	case CLASS_CREAT:
		did_open(sandbox, id, O_CREAT | O_TRUNC, result);
		return;
	case CLASS_OPENAT2: {
		__u64 flags = 0;

		if (bpf_probe_read_user(&flags, sizeof(flags), (void *)a2))
			flags = O_CREAT | O_TRUNC;
		did_open(sandbox, id, flags, result);
		return;
	}
	case CLASS_MMAP:
		if (result < 0 && result > -4096)
			return;
		did_mmap(sandbox, id, a4, a3);
		return;
	case CLASS_COPY:
		if (result > 0)
			did_read(sandbox, id, a0);
		did_fd(sandbox, id, a2, result > 0);
		return;
	case CLASS_TEE:
		did_fd(sandbox, id, a1, result > 0);
		return;
	case CLASS_SENDFILE:
		if (result > 0)
			did_read(sandbox, id, a1);
		did_fd(sandbox, id, a0, result > 0);
		return;
	case CLASS_IOCTL:
		if (done)
			did_ioctl(sandbox, id, a0, a1);
		return;
	}
	if (!done)
		return;
	switch (class) {
	case CLASS_SOCKET:
		did_fd(sandbox, id, a0, true);
		return;
	case CLASS_BIND:
		did_fd(sandbox, id, a0, true);
		did(sandbox, MARK_PATH_CALL);
		return;
	case CLASS_FCNTL:
		if (a1 == F_SETPIPE_SZ || a1 == F_ADD_SEALS)
			did_fd(sandbox, id, a0, true);
		return;
	case CLASS_PID:
		if (!is_caller(a0))
			did(sandbox, MARK_OTHER_PROCESS);
		return;
	case CLASS_PRLIMIT:
		if (a2 && !is_caller(a0))
			did(sandbox, MARK_OTHER_PROCESS);
		return;
	case CLASS_PRIORITY:
		if (a0 != PRIO_PROCESS || !is_caller(a1))
			did(sandbox, MARK_OTHER_PROCESS);
		return;
	case CLASS_IO_PRIORITY:
		if (a0 != IOPRIO_WHO_PROCESS || !is_caller(a1))
			did(sandbox, MARK_OTHER_PROCESS);
		return;
	case CLASS_PTRACE:
		if (a0 != PTRACE_TRACEME)
			did(sandbox, MARK_OTHER_PROCESS);
		return;
	case CLASS_OTHER_PROCESS:
		did(sandbox, MARK_OTHER_PROCESS);
		return;
	case CLASS_IPC:
		did(sandbox, MARK_IPC);
		return;
	case CLASS_MOUNT:
		did(sandbox, MARK_MOUNT);
		return;
	case CLASS_KERNEL:
		did(sandbox, MARK_KERNEL);
		return;
	case CLASS_ASYNC_IO:
		did(sandbox, MARK_ASYNC_IO);
		return;
	default:
		did(sandbox, MARK_UNKNOWN_CALL);
		sandbox->unknown_call = regs->orig_ax;
	}
}
