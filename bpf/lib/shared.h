/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs and the Java side share. Java finds enumerators and members by name in the object's BTF, so their order is free.
 */
#pragma once

/* What can be seen of a sandbox. One time stamp each (see stamp.h), never cleared. */
enum mark {
	MARK_PATH_CALL,     /* a call that changes names or attributes by path */
	MARK_TRUNCATE,      /* truncate(2): content changed by path, so that it is not known of which file */
	MARK_FILE_WRITE,    /* a regular file or directory was written or changed through a descriptor or mapping */
	MARK_INODE_DIRTY,   /* the file system marked an inode or page dirty */
	MARK_MEMORY_FILE,   /* a file in memory (memfd, tmpfs) was written */
	MARK_PIPE,          /* a pipe or FIFO was written, read or opened */
	MARK_SOCKET,        /* a socket was written, read or got data */
	MARK_TERMINAL,      /* a terminal was written or reconfigured */
	MARK_OTHER_PROCESS, /* a call that changes another process */
	MARK_IPC,           /* System V IPC or POSIX message queues */
	MARK_MOUNT,         /* the mount table */
	MARK_KERNEL,        /* kernel state: sysctl, sysfs, cgroupfs, host name, keys, … */
	MARK_ASYNC_IO,      /* io_uring or AIO: work that no later call shows */
	MARK_UNKNOWN_CALL,  /* a system call that the class table does not list */
	MARK_FOREIGN_ABI,   /* a call by another ABI than x86-64's, whose numbers mean something else */
	MARK_UNREADABLE,    /* a descriptor or argument that could not be read back */
	MARK_OVERFLOW,      /* a map was full */
	MARK_LEFT_CGROUP,   /* a task left the sandbox's cgroup, or was born outside of it */
	MARK_COUNT,
};

/* Classes of system calls; the table is filled from syscalls-x86_64.txt. What is not listed is CLASS_UNKNOWN. */
enum call_class {
	CLASS_UNKNOWN,
	CLASS_NOTHING,       /* cannot change what recovery needs, or another hook sees what it does */
	CLASS_READ,          /* takes data out of descriptor 0: matters for pipes and sockets */
	CLASS_WRITE,         /* writes to descriptor 0 */
	CLASS_ATTRIBUTE,     /* changes attributes of descriptor 0 */
	CLASS_PATH,          /* changes names or attributes by path */
	CLASS_TRUNCATE,      /* truncate(path, size) */
	CLASS_OPEN,          /* open(path, flags) */
	CLASS_OPENAT,        /* openat(dir, path, flags) */
	CLASS_OPENAT2,       /* openat2(dir, path, how) */
	CLASS_CREAT,         /* creat(path) */
	CLASS_MMAP,
	CLASS_COPY,          /* from descriptor 0 to descriptor 2 */
	CLASS_TEE,           /* from descriptor 0 to descriptor 1 */
	CLASS_SENDFILE,      /* from descriptor 1 to descriptor 0 */
	CLASS_SOCKET,        /* changes the state of socket descriptor 0 */
	CLASS_BIND,          /* as CLASS_SOCKET, and may make a name in the file system */
	CLASS_OTHER_PROCESS,
	CLASS_PID,           /* changes the process of argument 0, where 0 or the caller itself is nothing */
	CLASS_PRIORITY,      /* setpriority(which, who, …) */
	CLASS_IO_PRIORITY,   /* ioprio_set(which, who, …) */
	CLASS_PRLIMIT,       /* prlimit64(pid, resource, new, old) */
	CLASS_PTRACE,
	CLASS_IPC,
	CLASS_MOUNT,
	CLASS_KERNEL,
	CLASS_ASYNC_IO,
	CLASS_IOCTL,
	CLASS_FCNTL,
	CLASS_COUNT,
};

/* One followed sandbox; written by the programs only, save at its creation. */
struct sandbox {
	__u64 stamp[MARK_COUNT];
	__u32 init_tgid;    /* its pid 1, never evidence of an effect */
	__u32 unknown_call; /* the last call number behind MARK_UNKNOWN_CALL */
};

/* A process that lived at the last rebase. */
struct survivor {
	__u64 ran;
	__u64 signalled;
};

enum thread_state { THREAD_PARKED = 1, THREAD_RESUMING = 2 };

/* A survivor's thread in or just after a stop that was imposed from outside the sandbox. */
struct thread {
	__u64 since_ns;
	__u32 tgid;
	enum thread_state state;
};

enum object_kind { OBJECT_FILE = 1, OBJECT_PIPE = 2, OBJECT_SOCKET = 3, OBJECT_MEMORY_FILE = 4 };

/* A touched kernel object; the value is its time stamp. */
struct object {
	__u64 inode;
	enum object_kind kind;
	__u32 padding;
};
