/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel types that the inspector reads, cut down to the fields it reads. Every access is relocated against the running kernel's
 * BTF when the object is loaded (preserve_access_index), so neither the offsets nor the order of fields here matter, only their names.
 */
#pragma once

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef _Bool bool;
enum { false = 0, true = 1 };
typedef int pid_t;
typedef unsigned int dev_t;
typedef unsigned short umode_t;
typedef unsigned int fmode_t;

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
};

enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long r10, r9, r8, ax, cx, dx, si, di, orig_ax;
};

struct thread_info {
	u32 status;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[0];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[0];
};

struct super_block {
	dev_t s_dev;
	unsigned long s_magic;
};

struct inode {
	umode_t i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	dev_t i_rdev;
};

struct dentry {
	struct inode *d_inode;
};

/* An inode of procfs lies inside this; pid is that of the process whose file it is, NULL for the system's own. */
struct proc_inode {
	struct pid *pid;
	struct inode vfs_inode;
};

/* An overlay inode lies inside this; __upperdentry is set from the copy-up on. */
struct ovl_inode {
	struct inode vfs_inode;
	struct dentry *__upperdentry;
};

struct address_space {
	struct inode *host;
};

struct folio;

struct file {
	fmode_t f_mode;
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

typedef struct {
	int counter;
} atomic_t;

struct files_struct {
	atomic_t count;
	struct fdtable *fdt;
};

struct mm_struct;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int ptrace;
	unsigned int flags;
	unsigned long jobctl;
	pid_t pid;
	pid_t tgid;
	struct task_struct *parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct mm_struct *mm;
	struct files_struct *files;
	struct css_set *cgroups;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct socket;

struct sock {
	struct socket *sk_socket;
	struct sock_cgroup_data sk_cgrp_data;
};

struct socket_alloc {
	struct socket *socket; /* a struct in the kernel; only vfs_inode's place is used */
	struct inode vfs_inode;
};

#pragma clang attribute pop
